/** An installation that goes from a directory to a bucket, and back, while it serves and draws. */
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as rest } from 'node:timers/promises'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runStore } from '../../src/db/generations/run.js'
import { imageStore } from '../../src/images/open-image-store.js'
import { parseConfig } from '../../src/process/config.js'
import { call, endOf } from '../support/client.js'
import { givenGeneration, givenUser } from '../support/givens.js'
import { directoryOf, storageEnv } from '../support/image-storage.js'
import { type S3Server, startS3 } from '../support/s3-server.js'
import { sha256 } from '../support/s3-signature.js'
import { useService } from '../support/service.js'
import { standInWorker } from '../support/stand-in-worker.js'
import { until } from '../support/until.js'
import { type Ran, runLine } from './easel.js'
import { COPIED, killMove } from './killed-move.js'

const NO_OLD = { STORAGE_OLD_URL: '' }
const directory = await mkdtemp(join(tmpdir(), 'easel-move-'))
let s3: S3Server
beforeAll(async () => {
  s3 = await startS3(join(directory, 's3'))
})
afterAll(async () => {
  await s3.close()
  await rm(directory, { recursive: true, force: true })
})
const context = useService({ inFiles: true, env: { INFERENCE_URL: 'preview:', RATE_LIMIT_MAX: '10000' } })

/** Images that were drawn long ago, in the directory. */
async function givenImages(count: number): Promise<string[]> {
  const { db, config } = context.service
  const store = imageStore(config)
  const slugs: string[] = []
  while (slugs.length < count) {
    await givenGeneration(db, await givenUser(db), { width: 64, height: 96 })
    const generation = await standInWorker(db).claim()
    const slug = generation.slugs[0] as string
    const background = { r: slugs.length, g: 90, b: 60 }
    const drawn = sharp({ create: { width: 64, height: 96, channels: 3, background } })
    const [png, thumbnail] = [await drawn.clone().png().toBuffer(), await drawn.clone().webp().toBuffer()]
    await store.put(slug, png, { thumbnail })
    const image = { slug, seed: 42, width: 64, height: 96, bytes: png.length, sha256: sha256(png).digest('hex') }
    await runStore(db, { refundFailed: true }).succeed(generation, [{ ...image, hasThumbnail: true }])
    slugs.push(slug)
  }
  return slugs
}

/** Asks for every image again and again, wherever `url` leads now, until it is stopped. */
function startReader(slugs: readonly string[], url: () => string) {
  const refused: string[] = []
  let rounds = 0
  let stopped = false
  const ended = (async () => {
    while (!stopped) {
      const server = url()
      for (const name of slugs.flatMap((slug) => [`${slug}.png`, `${slug}.webp`])) {
        const status = await fetch(`${server}/cdn/${name}`).then(
          (answer) => answer.arrayBuffer().then(() => answer.status),
          () => 0,
        )
        if (status !== 200 && server === url()) refused.push(`${name}: ${status}`)
      }
      rounds++
      // Without a rest it would take half of the machine from what it watches.
      await rest(100)
    }
  })()
  return {
    refused,
    /** Every image was asked for once more. */
    async another() {
      const before = rounds
      await until(() => rounds > before + 1, 'a round of all images')
    },
    async stop() {
      stopped = true
      await ended
    },
  }
}

it('storage move keeps every image in reach all the time, though it is killed halfway', {
  timeout: 480_000,
}, async () => {
  const { service } = context
  const old = storageEnv(service.config)
  const bucket = await s3.env('easel')
  const from = old.STORAGE_URL as string
  const to = bucket.STORAGE_URL as string
  const env = { ...bucket, STORAGE_OLD_URL: from }
  const common = { DATABASE_URL: service.config.databaseUrl, BASE_URL: 'http://easel.test', LOG_LEVEL: 'silent' }
  const easel = (line: string, more: Record<string, string>): Promise<Ran> => runLine(line, { ...common, ...more })
  const moved = (ran: Ran) => {
    // On a slow machine it tells how far it is.
    expect(ran.stderr).toMatch(/^(\d+ of \d+ images done\n)*$/)
    return JSON.parse(ran.stdout)
  }

  const wrongFiles = async (where: Record<string, string>): Promise<unknown> => {
    const { checks } = JSON.parse((await easel('audit --full --json', where)).stdout)
    return checks.filter((it: { violations: number }) => it.violations > 0)
  }

  const slugs = await givenImages(18)
  const seen = [...slugs]
  let url = service.url
  const reader = startReader(seen, () => url)
  const user = await givenUser(service.db)
  const draw = async () => {
    const body = { prompt: 'hills', model_version_id: 10, width: 256, height: 256, steps: 1 }
    const submitted = await call(url, 'POST', '/api/v1/generate', { key: user.key, body })
    expect(submitted).toMatchObject({ status: 201 })
    const { output } = await endOf({ url }, user, submitted.body.id)
    const slug = output.images[0].id as string
    return slug
  }
  const oldWorker = await service.worker()
  seen.push(await draw())

  // Servers first: they must know both stores before a worker stores anything in the newer one.
  const newServer = await service.server({}, env)
  url = newServer.url
  await service.stopServer()
  const newWorker = await service.worker({}, env)
  await oldWorker.stop()
  seen.push(await draw())

  const newer = imageStore({ ...service.config, storage: parseConfig({ ...common, ...bucket }).storage })
  await killMove(s3, { ...common, ...env }, [from, to], newer)
  seen.push(await draw())

  // It goes on where it was, and what is removed while it is being copied stays removed.
  const [first = ''] = slugs
  await newer.remove(first)
  seen.splice(seen.indexOf(first), 1)
  s3.fault = async ({ method, url: path }): Promise<'pass'> => {
    if (method !== 'PUT' || !path?.includes(`${first}.png`)) return 'pass'
    s3.fault = undefined
    expect((await easel(`images remove ${first}`, env)).code).toBe(0)
    return 'pass'
  }
  const report = moved(await easel(`storage move ${from} ${to} --json`, env))
  expect(report).toMatchObject({ removed: 1, missing: 0, different: 0 })
  expect(report.copied + report.present).toBe(seen.length)
  expect(report.present).toBeGreaterThanOrEqual(COPIED)
  expect(report.copied).toBeGreaterThan(0)
  expect(await newer.exists(first)).toBe(false)

  // The older store may go.
  const bucketServer = await service.server({}, { ...bucket, ...NO_OLD })
  url = bucketServer.url
  await newServer.stop()
  const bucketWorker = await service.worker({}, { ...bucket, ...NO_OLD })
  await newWorker.stop()
  await rename(directoryOf(service.config), `${directoryOf(service.config)}-away`)
  seen.push(await draw())
  await reader.another()
  expect(await wrongFiles(bucket)).toEqual([])

  // And back, into another directory.
  const target = { ...bucket, STORAGE_URL: `file:${join(directory, 'back')}`, STORAGE_OLD_URL: to }
  const backServer = await service.server({}, target)
  url = backServer.url
  await bucketServer.stop()
  const backWorker = await service.worker({}, target)
  await bucketWorker.stop()
  expect(moved(await easel(`storage move ${to} ${target.STORAGE_URL} --json`, target))).toEqual({
    ...{ copied: seen.length, present: 0, removed: 0, missing: 0, different: 0, failed: 0, examples: [] },
    archive: { copied: 0, present: 0, missing: 0, failed: 0 },
  })
  seen.push(await draw())
  await reader.another()
  await reader.stop()
  expect(reader.refused.filter((line) => !line.startsWith(first))).toEqual([])
  expect(await wrongFiles(target)).toEqual([])
  await backWorker.stop()
})
