/** The sixtieth image of the gallery is opened, and one comes back to where it was. */
import { until } from '../../support/until.js'
import type { Film } from './film.js'
import { check, type Way } from './person.js'
import { sceneOf } from './stage.js'

const IMAGES = 90
const OPENED = 60

export async function sixtiethImage(film: Film, way: Way): Promise<void> {
  const account = await film.stage.givenSubscriber(Array.from({ length: IMAGES }, (_, n) => sceneOf(n)))
  const person = await film.enter(way, account)
  const { page } = person
  await page.goto('/gallery')
  const link = page.locator(`.picture > a[href="/image/${account.slugs[OPENED - 1]}"]`)
  /** Of the image, in the window. */
  const top = () => link.evaluate((it) => it.getBoundingClientRect().top)
  await goTo()
  for (const how of ['back', 'back after the page of the image was loaded anew']) {
    const before = await top()
    await film.shot(page, `${how}, before`)
    await person.press(link)
    await page.waitForURL('**/image/*')
    if (how === 'back') await film.shot(page, 'the page of the image')
    else await page.reload()
    await page.goBack()
    await link.waitFor()
    // What comes back is put in place by a script.
    await until(async () => Math.abs((await top()) - before) <= 2, 'the same place', 5000).catch(() => undefined)
    const now = await top()
    await film.shot(page, `${how}, after`)
    check(
      Math.abs(now - before) <= 2,
      `Whoever comes ${how} finds the image ${Math.round(now)} pixels from the top of the window; it was at ${Math.round(before)}.`,
    )
    if (way === 'keyboard')
      check(
        await link.evaluate((it) => it.ownerDocument.activeElement === it),
        `Whoever comes ${how} finds the focus elsewhere.`,
      )
  }
  film.row('The sixtieth image, and back', { way, acts: person.acts })

  /** So that the image is in the window. */
  async function goTo() {
    if (way === 'no-script') {
      await person.press(page.getByRole('link', { name: 'More images' }))
      await link.scrollIntoViewIfNeeded()
    } else if (way === 'keyboard') {
      for (let n = 0; n < OPENED; n++) {
        await page.locator('.picture').nth(n).waitFor()
        await person.key('j')
      }
      check(await link.evaluate((it) => it.ownerDocument.activeElement === it), 'J does not lead to the image.')
    } else {
      // A finger that scrolls on until the image is there.
      while ((await link.count()) === 0) {
        await page.locator('.more').scrollIntoViewIfNeeded()
        await page
          .locator('.picture')
          .nth(OPENED - 1)
          .waitFor()
      }
      await link.scrollIntoViewIfNeeded()
    }
  }
}
