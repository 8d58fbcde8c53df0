/** `npm run film -- --out FOLDER --only WORDS --large`: goes through the website as a subscriber would. */
import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { batchOfFour } from './batch.js'
import { openFilm } from './film.js'
import { twoFolders } from './folders.js'
import { largeAccount } from './large.js'
import { everyPage, givenOperatorWithImages, pagesOf } from './pages.js'
import { WAYS } from './person.js'
import { sixtiethImage } from './sixtieth.js'
import { openStage } from './stage.js'
import { tenImages } from './ten-images.js'

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    only: { type: 'string', multiple: true, default: [] },
    large: { type: 'boolean', default: false },
  },
})
const out = values.out ? resolve(values.out) : await mkdtemp(join(tmpdir(), 'easel-film-'))
await mkdir(out, { recursive: true })
console.log(`The screenshots are in ${out}`)

const stage = await openStage()
const close = async () => {
  await stage.close()
  process.exit()
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, close)
const film = openFilm(
  stage,
  out,
  (name) => values.only.length === 0 || values.only.some((words) => name.includes(words)),
)
try {
  for (const way of WAYS) {
    await film.scene(`ten images, ${way}`, () => tenImages(film, way))
    await film.scene(`batch of four, ${way}`, () => batchOfFour(film, way))
    await film.scene(`two folders, ${way}`, () => twoFolders(film, way))
    await film.scene(`sixtieth image, ${way}`, () => sixtiethImage(film, way))
  }
  if (values.only.length === 0 || values.only.some((words) => words.startsWith('page'))) {
    const operator = await givenOperatorWithImages(stage)
    for (const path of pagesOf(operator)) await film.scene(`page ${path}`, () => everyPage(film, path, operator))
  }
  if (values.large) await film.scene('large account', () => largeAccount(film))
} finally {
  console.log(film.tables())
  console.log(film.faults.length === 0 ? '\nNo fault.' : `\n${film.faults.length} faults:\n${film.faults.join('\n')}`)
  process.exitCode = film.faults.length === 0 ? 0 : 1
  await close()
}
