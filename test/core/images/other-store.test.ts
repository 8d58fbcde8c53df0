import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import { isOtherStore } from '../../../src/core/images/other-store.js'
import { somePublished } from '../../../src/db/images/published-images.js'
import { useDatabase } from '../../support/database.js'
import { givenFiles, givenImages } from '../../support/given-images.js'
import { givenUser } from '../../support/givens.js'
import { startService } from '../../support/service.js'
import { until } from '../../support/until.js'

const own = useDatabase()

it('a store that has one of the images is theirs; one without images has nothing to lack', async () => {
  const images = (there: readonly string[]) => ({ exists: async (slug: string) => there.includes(slug) })
  expect(await isOtherStore({ somePublished: somePublished(own.db), images: images([]) })).toBe(false)
  const user = await givenUser(own.db)
  const slugs = await givenImages(own.db, user, [{}, {}, {}])
  await own.db.pool.query('UPDATE images SET removed_at = now() WHERE slug = $1', [slugs[0]])
  await own.db.pool.query('UPDATE images SET private = true WHERE slug = $1', [slugs[1]])
  const is = (there: readonly string[]) => isOtherStore({ somePublished: somePublished(own.db), images: images(there) })
  expect([await is([]), await is(slugs.slice(0, 2)), await is(slugs.slice(2))]).toEqual([true, true, false])
})

it('a server says at its start that its disk is not mounted, or that its store is another one than before', async () => {
  const lines: string[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  const service = await startService({ log: pino({ level: 'error' }, stream), inFiles: true })
  onTestFinished(() => service.close())
  const slugs = await givenImages(service.db, await givenUser(service.db), [{}, {}])
  await givenFiles(service.config, slugs)
  const directory = await mkdtemp(join(tmpdir(), 'easel-unmounted-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  await service.server()
  await service.server({}, { STORAGE_URL: `file:${directory}` })
  const told = () => lines.filter((line) => line.includes('none of the images that were published'))
  await until(() => told().length > 0, 'the sentence')
  expect(told()).toEqual([expect.stringContaining(`"storage":"file:${directory}"`)])
})
