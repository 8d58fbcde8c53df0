import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { imagePrivacy } from '../../../src/db/images/privacy.js'
import { call } from '../../support/client.js'
import { startFaultProxy } from '../../support/fault-proxy.js'
import { givenSession } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { startService, useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { givenReceiver } from '../../support/webhook-receiver.js'
import { visit } from '../../support/website-client.js'
import { aPrivateImage } from './private-image-behaviour.js'

const COMMON = { INFERENCE_URL: 'preview:' }
const inFiles = useService({ inFiles: true, worker: true, env: COMMON })

describe('a private image in a directory', () => aPrivateImage(inFiles))

describe('the directory of private images', () => {
  it('may be entered by its owner only, and has a name that nobody can guess', async () => {
    const { config, db } = inFiles.service
    const { storage } = config
    if (storage.kind !== 'file') throw new Error('no directory')
    expect((await stat(join(storage.path, 'private'))).mode & 0o077).toBe(0)
    const names = await readdir(join(storage.path, 'private'))
    expect(names).toHaveLength(1)
    expect(names[0]).toMatch(/^[0-9a-f]{32}$/)
    expect((await db.pool.query('SELECT FROM secrets')).rowCount).toBe(1)
  })
})

describe.each(['refuse', 'stall'] as const)('while Postgres is away (%s)', (how) => {
  it('public images are served as ever, and one whose file is still to leave its public address is not', async () => {
    const { service } = inFiles
    const owner = await givenUser(service.db, { credits: 10 })
    const slugs: string[] = []
    for (let n = 0; n < 2; n++) {
      const body = { prompt: 'a lighthouse', width: 256, height: 256, steps: 20 }
      const answer = await call(service.url, 'POST', '/v1/images/generate', { key: owner.key, body })
      slugs.push(answer.body.data.image_id as string)
    }
    const [shown, leaving] = slugs as [string, string]
    await service.db.pool.query(`INSERT INTO image_moves (slug, due_at) VALUES ($1, now() + interval '1 hour')`, [
      leaving,
    ])
    await imagePrivacy(service.db).set(owner.id, [leaving], true)
    const proxy = await startFaultProxy(service.config.databaseListenUrl)
    onTestFinished(() => proxy.close())
    const url = proxy.through(service.config.databaseListenUrl)
    const server = await service.server({}, { DATABASE_URL: url, DATABASE_LISTEN_URL: url })
    onTestFinished(async () => {
      await proxy.pass()
      await server.stop()
      await service.db.pool.query('UPDATE image_moves SET due_at = now() WHERE slug = $1', [leaving])
    })
    await proxy[how]()
    const answer = await fetch(`${server.url}/cdn/${shown}.png`)
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable'])
    await answer.arrayBuffer()
    const hidden = await fetch(`${server.url}/cdn/${leaving}.png`)
    expect([hidden.status, hidden.headers.get('cache-control')]).toEqual([503, 'no-store'])
    await proxy.pass()
    const status = async () => (await fetch(`${server.url}/cdn/${leaving}.png`)).status
    await until(async () => (await status()) === 404, 'Postgres to answer again')
  })
})

describe('with a CDN', () => {
  it('drops its copies of an image that becomes private, and pages then use the address of this server', async () => {
    const cdn = await givenReceiver(200)
    const env = { ...COMMON, CDN_BASE_URL: 'https://cdn.example/images', CDN_PURGE_URL: cdn.url }
    const service = await startService({ worker: true, env })
    onTestFinished(() => service.close())
    const { db, url } = service
    const owner = await givenUser(db)
    const cookie = await givenSession(db, owner)
    const body = { prompt: 'a lighthouse', width: 256, height: 256, steps: 20 }
    const slug: string = (await call(url, 'POST', '/v1/images/generate', { key: owner.key, body })).body.data.image_id
    await visit(url, `/image/${slug}/privacy`, { cookie, body: { private: '1' } })
    const urls = ['png', 'webp'].flatMap((end) => [
      ...[`https://cdn.example/images/${slug}.${end}`, `http://easel.test/cdn/${slug}.${end}`],
    ])
    for (const [n, it] of urls.entries()) expect((await cdn.nth(n + 1)).body).toEqual({ files: [it] })
    for (const path of [`/image/${slug}`, '/gallery', `/compare/${slug}/${slug}`]) {
      const { html } = await visit(url, path, { cookie })
      expect([path, html.includes(`https://cdn.example/images/${slug}`)]).toEqual([path, false])
      expect([path, html.includes(`/cdn/${slug}.`)]).toEqual([path, true])
    }
  })
})
