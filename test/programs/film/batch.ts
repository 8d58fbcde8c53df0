/** A batch of four: each looked at in full size, and two compared. */
import type { Film } from './film.js'
import { check, type Way } from './person.js'
import { partsOf } from './ten-images.js'

const PROMPT = 'a city by the river at night, reflections'

export async function batchOfFour(film: Film, way: Way): Promise<void> {
  const account = await film.stage.givenSubscriber()
  const person = await film.enter(way, account)
  const { page } = person
  await page.goto('/playground')
  const form = partsOf(person)
  await person.write(form.prompt, PROMPT)
  await person.choose(form.shape(/^Portrait/))
  await person.choose(form.count(4))
  const { go } = await film.stage.hold()
  try {
    await person.press(form.generate)
    await form.stage.getByRole('heading', { name: /^First in the queue/ }).waitFor()
    await film.shot(page, 'waits')
  } finally {
    await go()
  }
  const figures = form.stage.locator('figure > a')
  await figures.nth(3).waitFor()
  check((await figures.count()) === 4, 'The stage does not show four images.')
  await form.stage.scrollIntoViewIfNeeded()
  await film.shot(page, 'four on the stage')

  if (way === 'no-script') {
    // Without scripts each image has a page, from which one goes on to the next.
    await person.press(figures.first())
    await page.waitForURL('**/image/*')
    for (let n = 1; n < 4; n++) {
      const { url } = { url: page.url() }
      await person.press(page.getByRole('link', { name: /^(Older|Newer)/ }).last())
      await page.waitForURL((now) => now.href !== url)
    }
    await film.shot(page, 'the page of the last one')
  } else {
    await person.press(figures.first())
    const box = page.getByRole('dialog', { name: 'Image' })
    await box.waitFor()
    const large = box.getByRole('img')
    const seen = new Set<string>()
    const see = async () => void seen.add((await large.getAttribute('src')) as string)
    await see()
    await film.shot(page, 'in full size')
    for (let n = 1; n < 4; n++) {
      if (way === 'touch') await person.swipe(box, 0.8, 0.2)
      else await person.key('ArrowRight')
      await see()
    }
    check(seen.size === 4, `Going on three times shows ${seen.size} of four images in full size.`)
    const previous = await large.getAttribute('src')
    await person.press(box.getByRole('button', { name: 'Previous' }))
    check((await large.getAttribute('src')) !== previous, 'The button Previous shows the same image.')
    await person.press(box.getByRole('button', { name: 'Next' }))
    check((await large.getAttribute('src')) === previous, 'The button Next does not lead back.')
    await film.shot(page, 'in full size, the last one')
    if (way === 'touch') await person.press(box.getByRole('button', { name: 'Close' }))
    else {
      await person.key('Escape')
      check(
        await figures.first().evaluate((it) => it.ownerDocument.activeElement === it),
        'The image that was opened has no focus after its full size is closed.',
      )
    }
    await box.waitFor({ state: 'hidden' })
  }

  await page.goto('/gallery')
  const boxes = page.getByRole('checkbox', { name: 'Select this image' })
  check((await boxes.count()) === 4, 'The gallery does not show the four images.')
  for (const n of [0, 2]) await person.press(boxes.nth(n))
  await film.shot(page, 'two are selected')
  await person.press(page.getByRole('button', { name: 'Compare two' }))
  await page.waitForURL('**/compare/*/*')
  await film.shot(page, 'compared')
  const differing = await page.locator('.differences .differs').allInnerTexts()
  check(
    differing.length === 1 && /^Seed/.test(differing[0] as string),
    `Two images of one batch differ in their seed; the page says: ${differing.join('; ') || 'nothing'}.`,
  )
  if (way !== 'no-script') {
    const divider = page.getByRole('slider', { name: 'Where the left image ends' })
    if (way === 'touch') await person.swipe(divider, 0.5, 0.2)
    else {
      await person.reach(divider)
      for (let n = 0; n < 30; n++) await person.key('ArrowLeft')
    }
    const at = Number(await divider.inputValue())
    check(at < 40, `The slider stands at ${at} after it was moved to the left.`)
    await film.shot(page, 'the slider was moved')
  }
  film.row('A batch of four', { way, acts: person.acts })
}
