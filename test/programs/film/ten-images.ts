/** Ten images in a row on Create, with changes in between; the last three from Up next. */
import type { Locator } from 'playwright-core'
import { PASSWORD } from '../../support/given-sign-in.js'
import type { Film } from './film.js'
import { check, type Person, type Way } from './person.js'

const THREE = ['a red door in the snow', 'a green door in the rain', 'a blue door by the sea']

export async function tenImages(film: Film, way: Way): Promise<void> {
  const account = await film.stage.givenSubscriber()
  const person = await film.enter(way)
  const { page } = person
  await page.goto('/playground')
  await person.write(page.getByLabel('Username or email'), account.username)
  await person.write(page.getByLabel('Password'), PASSWORD)
  await film.shot(page, 'sign in')
  await person.press(page.getByRole('button', { name: 'Sign in', exact: true }))
  await page.waitForURL('**/playground')
  await film.shot(page, 'create')

  const form = partsOf(person)
  const slugs = new Set<string>()
  const times: number[] = []
  /** Waits until the stage and the strip show one more image. */
  const seeDrawn = async (prompt: string, begun: number) => {
    const number = slugs.size + 1
    await form.stage.getByRole('img', { name: prompt }).waitFor()
    times.push(performance.now() - begun)
    await form.strip.nth(number - 1).waitFor()
    const links = await form.strip.evaluateAll((all) => all.map((it) => it.getAttribute('href') as string))
    check(links.length === number, `The strip shows ${links.length} images after ${number}.`)
    for (const link of links) slugs.add(link)
    check(slugs.size === number, `An image of the strip was lost after ${number}.`)
    const shown = await form.stage.locator('figure a').first().getAttribute('href')
    check(shown === links[0], `The stage shows ${shown}, and the strip begins with ${links[0]}.`)
  }
  const draw = async (prompt: string, name: string) => {
    const begun = performance.now()
    await person.press(form.generate)
    await seeDrawn(prompt, begun)
    await film.shot(page, `${slugs.size} ${name}`)
  }

  let prompt = 'a lighthouse on a cliff at dusk'
  const write = async (text: string) => {
    prompt = text
    await person.write(form.prompt, text)
  }
  await write(prompt)
  await person.choose(form.shape('Custom size'))
  for (const side of ['Width', 'Height']) await person.write(page.getByLabel(side), '512')
  await draw(prompt, 'first')

  await write('a lighthouse in a storm, high waves')
  await draw(prompt, 'another prompt')

  await person.choose(page.getByRole('radio', { name: /^Plant Milk/ }))
  await draw(prompt, 'another model')
  await form.stage.getByText('Plant Milk').waitFor()

  await person.choose(form.shape(/^Portrait/))
  await draw(prompt, 'another size')
  await form.stage.getByText('832 × 1216').waitFor()

  await person.choose(form.shape('Custom size'))
  await form.open('Fine tuning', form.seed)
  await person.write(form.seed, '4711')
  await draw(prompt, 'a seed')
  await form.stage.getByText('seed 4711').waitFor()

  await person.press(form.stage.getByRole('link', { name: /seed 4711/ }))
  await write('a lighthouse in a storm, high waves, at night')
  check((await form.seed.inputValue()) === '4711', 'The seed of the image on the stage is not in the form.')
  await draw(prompt, 'the same seed')
  await form.stage.getByText('seed 4711').waitFor()

  await person.press(form.stage.getByRole('link', { name: 'Remix' }))
  await page.waitForURL('**/playground?from=*')
  check((await form.prompt.inputValue()) === prompt, 'Remix does not bring the prompt.')
  check((await form.seed.inputValue()) === '', 'Remix brings the seed, too.')
  await film.shot(page, 'remix')

  const { go } = await film.stage.hold()
  const begun = performance.now()
  try {
    await person.press(form.generate)
    await form.stage.getByRole('heading', { name: /^First in the queue/ }).waitFor()
    for (const [n, idea] of THREE.entries()) {
      await form.stopReloading()
      await person.write(form.prompt, idea)
      await person.press(form.addToUpNext)
      await form.ideas.nth(n).getByText(idea).waitFor()
      if (n === 0) await film.shot(page, 'the first idea is up next')
    }
    check((await form.ideas.count()) === THREE.length, 'Up next does not show three ideas.')
    await page.locator('#up-next').scrollIntoViewIfNeeded()
    await film.shot(page, 'three ideas are up next')
  } finally {
    await go()
  }
  if (way === 'no-script') await page.goto('/playground')
  await form.strip.nth(9).waitFor({ timeout: 120_000 })
  await form.stage.getByRole('img', { name: THREE[2] as string }).waitFor()
  const links = await form.strip.evaluateAll((all) => all.map((it) => it.getAttribute('href') as string))
  for (const link of links) slugs.add(link)
  check(slugs.size === 10, `After ten images the strip has shown ${slugs.size}.`)
  check((await form.ideas.count()) === 0, 'Up next still shows ideas that were drawn.')
  const four = performance.now() - begun
  await page.evaluate('scrollTo(0, 0)')
  await film.shot(page, '10 all are drawn')

  await person.press(page.getByRole('link', { name: 'Gallery', exact: true }))
  await page.waitForURL('**/gallery')
  const kept = await page
    .locator('.picture > a')
    .evaluateAll((all) => all.map((it) => it.getAttribute('href') as string))
  check(kept.length === 10, `The gallery holds ${kept.length} images instead of ten.`)
  check(
    kept.every((link) => slugs.has(link)),
    'The gallery holds an image that was not shown on Create.',
  )
  await film.shot(page, 'gallery')
  film.row('Ten images in a row', {
    way,
    acts: person.acts,
    'press to image, median': ms(times.sort((a, b) => a - b)[Math.floor(times.length / 2)] as number),
    slowest: ms(times.at(-1) as number),
    'the last four, held first': ms(four),
  })
}

const ms = (time: number) => `${Math.round(time)} ms`

/** What one uses on Create. */
export function partsOf(person: Person) {
  const { page, way } = person
  const stage = page.locator('#stage')
  return {
    stage,
    strip: page.locator('#strip [data-show]'),
    prompt: page.getByRole('textbox', { name: 'Prompt', exact: true }),
    generate: page.locator('#generate'),
    addToUpNext: page.getByRole('button', { name: /^Add to Up next/ }).first(),
    ideas: page.locator('#up-next .ideas li'),
    seed: page.locator('#seed'),
    shape: (name: string | RegExp) => page.getByRole('radio', { name }),
    count: (count: number) => page.getByRole('radiogroup', { name: 'Images' }).getByRole('radio', { name: `${count}` }),
    /** What is folded up. */
    async open(summary: string, inside: Locator) {
      if (!(await inside.isVisible())) await person.press(page.getByText(summary, { exact: true }))
    },
    /** A page without scripts is loaded anew while something is drawn, which would take what is being written. */
    async stopReloading() {
      const link = page.getByRole('link', { name: 'Stop that to write' })
      if (way === 'no-script' && (await link.count()) > 0) await person.press(link)
    },
  }
}
