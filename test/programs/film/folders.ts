/** Fifty images, sorted into two folders, which are downloaded. */
import { readFile } from 'node:fs/promises'
import type { Locator } from 'playwright-core'
import { unzipped } from '../../support/unzip.js'
import type { Film } from './film.js'
import { check, type Person, type Way } from './person.js'
import { sceneOf } from './stage.js'

const IMAGES = 50
const FOLDERS = [
  { name: 'Of the sea', word: 'sea' },
  { name: 'Of the land', word: 'land' },
]
const IN_EACH = IMAGES / FOLDERS.length

export async function twoFolders(film: Film, way: Way): Promise<void> {
  const account = await film.stage.givenSubscriber(
    Array.from({ length: IMAGES }, (_, n) => ({
      ...sceneOf(n),
      prompt: `${FOLDERS[n % 2]?.word} study, ${sceneOf(n).prompt}`,
    })),
  )
  const person = await film.enter(way, account)
  const { page } = person
  await page.goto('/gallery')
  await film.shot(page, 'gallery of fifty')
  for (const { name, word } of FOLDERS) {
    await search(person, `${word} study`)
    await film.shot(page, `search for ${word}`)
    await selectAll(person)
    await film.shot(page, `${name} are selected`)
    await person.write(page.getByRole('textbox', { name: 'Name of a new folder' }), name)
    await person.press(page.getByRole('button', { name: 'Add', exact: true }))
    await page.getByRole('navigation', { name: 'Folders' }).getByRole('link', { name }).waitFor()
    if (way !== 'no-script') await page.getByText(`${IN_EACH} images are in ${name} now.`).waitFor()
    await film.shot(page, `${name} is made`)
  }
  for (const { name } of FOLDERS) {
    await person.press(page.getByRole('navigation', { name: 'Folders' }).getByRole('link', { name }))
    await page.getByRole('heading', { name, level: 1 }).waitFor()
    const shown = await page.locator('.picture').count()
    check(shown === IN_EACH, `The folder "${name}" shows ${shown} images instead of ${IN_EACH}.`)
    const menu = page.locator('summary', { hasText: /^Folder$/ })
    await person.press(menu)
    const button = page.getByRole('button', { name: 'Download as ZIP' })
    await button.waitFor()
    await film.shot(page, `${name} before it is downloaded`)
    const files = await downloaded(person, button)
    await person.press(menu)
    check(files === IN_EACH, `The ZIP of "${name}" holds ${files} files instead of ${IN_EACH}.`)
  }
  film.row('Fifty images sorted into two folders', { way, acts: person.acts })
}

async function search(person: Person, words: string) {
  const { page, way } = person
  await person.write(page.getByRole('searchbox', { name: 'Search prompts' }), words)
  if (way === 'no-script') await person.press(page.getByRole('button', { name: 'Search' }))
  await page.waitForURL((url) => url.searchParams.get('q') === words)
  await page.locator('.picture').nth(IN_EACH).waitFor({ state: 'detached' })
  const shown = await page.locator('.picture').count()
  check(shown === IN_EACH, `A search that ${IN_EACH} images match shows ${shown}.`)
}

async function selectAll(person: Person) {
  const { page, way } = person
  const boxes = page.getByRole('checkbox', { name: 'Select this image' })
  if (way === 'keyboard') {
    await person.reach(page.locator('.picture > a').first())
    await person.key('a')
  } else if (way === 'touch') {
    await person.touch(page.locator('.picture > a').first(), 700)
    await person.press(page.getByRole('button', { name: 'Select all' }))
  } else for (const box of await boxes.all()) await person.press(box)
  const selected = await page.locator('input[name=slug]:checked').count()
  check(selected === IN_EACH, `${selected} images are selected instead of ${IN_EACH}.`)
}

/** How many files are in the ZIP. */
async function downloaded(person: Person, button: Locator): Promise<number> {
  const [download] = await Promise.all([person.page.waitForEvent('download'), person.press(button)])
  return unzipped(await readFile(await download.path())).size
}
