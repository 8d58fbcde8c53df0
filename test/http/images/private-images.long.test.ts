import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { newSlug } from '../../../src/core/generations/generation.js'
import { imagePrivacy } from '../../../src/db/images/privacy.js'
import { wholeImageStore } from '../../../src/process/image-files.js'
import { call } from '../../support/client.js'
import { givenSession } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { refuse, type S3Server, startS3 } from '../../support/s3-server.js'
import { startService, useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { visit } from '../../support/website-client.js'
import { aPrivateImage } from './private-image-behaviour.js'

let directory: string
let s3: S3Server
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'easel-private-'))
  s3 = await startS3(join(directory, 's3'))
})
afterAll(async () => {
  await s3.close()
  await rm(directory, { recursive: true, force: true, maxRetries: 20 })
})

const COMMON = { INFERENCE_URL: 'preview:' }
const inBucket = useService(async () => ({ worker: true, env: { ...COMMON, ...(await s3.env('private')) } }))

describe('a private image in a bucket', () => aPrivateImage(inBucket))

describe('a stranger who asks for a private image', () => {
  it('has the store looked into as for one that there never was', async () => {
    const { service } = inBucket
    const owner = await givenUser(service.db)
    const body = { prompt: 'a lighthouse', width: 256, height: 256, steps: 20 }
    const image = await call(service.url, 'POST', '/v1/images/generate', { key: owner.key, body })
    const slug: string = image.body.data.image_id
    await imagePrivacy(service.db).set(owner.id, [slug], true)
    const moves = () => service.db.pool.query('SELECT FROM image_moves')
    await until(async () => (await moves()).rowCount === 0, 'the end of the move')
    const asked: string[] = []
    s3.fault = ({ method, url = '' }) => {
      asked.push(`${method} ${new URL(url, 'http://s3').pathname}`)
      return 'pass'
    }
    onTestFinished(() => {
      s3.fault = undefined
    })
    const askedFor = async (name: string, method: string) => {
      asked.length = 0
      expect((await fetch(`${service.url}/cdn/${name}.png`, { method })).status).toBe(404)
      return asked.map((it) => it.replace(name, 'SLUG'))
    }
    for (const method of ['GET', 'HEAD'])
      expect(new Set(await askedFor(slug, method))).toEqual(new Set(await askedFor(newSlug(), method)))
  })
})

describe('a move whose removal the store did not answer', () => {
  it('is not made again, nor undone by the opposite one, while the store may still carry it out', async () => {
    const { service } = inBucket
    const { db } = service
    const owner = await givenUser(db)
    const body = { prompt: 'a lighthouse', width: 256, height: 256, steps: 20 }
    const slug: string = (await call(service.url, 'POST', '/v1/images/generate', { key: owner.key, body })).body.data
      .image_id
    s3.fault = (request, response) => (request.method === 'DELETE' ? refuse(response, 500, 'InternalError') : 'pass')
    onTestFinished(() => {
      s3.fault = undefined
    })
    await imagePrivacy(db).set(owner.id, [slug], true)
    const sql = `SELECT attempts, due_at, due_at > now() + interval '2 minutes' AS waits FROM image_moves WHERE slug = $1`
    const move = async () => (await db.pool.query(sql, [slug])).rows[0]
    const claimed = await until(async () => (await move()).attempts === 1 && (await move()), 'the claim')
    await until(async () => (await move()).due_at.getTime() !== claimed.due_at.getTime(), 'the failure')
    await imagePrivacy(db).set(owner.id, [slug], false)
    expect(await move()).toMatchObject({ attempts: 1, waits: true })
    s3.fault = undefined
    await db.pool.query('UPDATE image_moves SET due_at = now() WHERE slug = $1', [slug])
    await until(async () => (await move()) === undefined, 'the end of the move')
    expect(await wholeImageStore(service.config, db).publicFiles.exists(slug)).toBe(true)
  })
})

describe('with a CDN and a bucket', () => {
  it('drops the copies of an image that becomes private at the next try if the CDN refused, also where the bucket forbids what is not there', async () => {
    let asked = 0
    const cdn = createServer((request, response) => {
      request.resume()
      response.writeHead(++asked === 1 ? 503 : 200).end('{}')
    })
    cdn.listen(0, '127.0.0.1')
    await once(cdn, 'listening')
    const hiding = await startS3(join(directory, 'hiding'))
    hiding.hidesMissing = true
    const purgeUrl = `http://127.0.0.1:${(cdn.address() as AddressInfo).port}/`
    const urls = { CDN_BASE_URL: 'https://cdn.example/images', CDN_PURGE_URL: purgeUrl }
    const service = await startService({ worker: true, env: { ...COMMON, ...(await hiding.env('hiding')), ...urls } })
    onTestFinished(async () => {
      await service.close()
      await hiding.close()
      cdn.close()
    })
    const { db, url } = service
    const owner = await givenUser(db)
    const body = { prompt: 'a lighthouse', width: 256, height: 256, steps: 20 }
    const slug: string = (await call(url, 'POST', '/v1/images/generate', { key: owner.key, body })).body.data.image_id
    await visit(url, `/image/${slug}/privacy`, { cookie: await givenSession(db, owner), body: { private: '1' } })
    await until(async () => {
      // The pause after the failure is over.
      await db.pool.query('UPDATE image_moves SET due_at = now() WHERE attempts > 0 AND $1', [asked > 0])
      return (await db.pool.query('SELECT FROM image_moves')).rowCount === 0
    }, 'the end of the move')
    expect(asked).toBe(5)
  })
})
