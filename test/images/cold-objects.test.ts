import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { auditService } from '../../src/process/audit-service.js'
import { wholeImageStore } from '../../src/process/image-files.js'
import { call } from '../support/client.js'
import { givenSession } from '../support/given-sign-in.js'
import { givenUser } from '../support/givens.js'
import { refuse, type S3Server, startS3 } from '../support/s3-server.js'
import { startService, useService } from '../support/service.js'
import { until } from '../support/until.js'
import { unzipped } from '../support/unzip.js'

let directory: string
let s3: S3Server
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'easel-cold-'))
  s3 = await startS3(join(directory, 's3'))
})
afterAll(async () => {
  await s3.close()
  await rm(directory, { recursive: true, force: true, maxRetries: 20 })
})
const context = useService(async () => ({
  worker: true,
  env: { INFERENCE_URL: 'preview:', ...(await s3.env('cold')) },
}))

it.each(['InvalidObjectState', 'KMS.DisabledException'])(
  'objects in a row that the bucket does not give (%s) are named by a ZIP, an export and the audit, and end none of them',
  async (code) => {
    const { service } = context
    const user = await givenUser(service.db, { credits: 20 })
    const cookie = await givenSession(service.db, user)
    const slugs: string[] = []
    for (let n = 0; n < 6; n++) {
      const body = { prompt: 'a lighthouse', width: 256, height: 256, steps: 20 }
      const answer = await call(service.url, 'POST', '/v1/images/generate', { key: user.key, body })
      slugs.push(answer.body.data.image_id)
    }
    const [cold, others] = [slugs.slice(0, 4), slugs.slice(4)]
    s3.fault = ({ method, url = '' }, response) =>
      method === 'GET' && cold.some((slug) => url.includes(`${slug}.png`)) ? refuse(response, 403, code) : 'pass'
    onTestFinished(() => {
      s3.fault = undefined
    })

    const ask = async (path: string, method: string) => {
      const headers = { cookie, 'sec-fetch-site': 'same-origin' }
      const answer = await fetch(service.url + path, {
        method,
        headers,
        ...(method === 'POST' && { body: new URLSearchParams() }),
      })
      expect(answer.status).toBe(200)
      return unzipped(Buffer.from(await answer.arrayBuffer()))
    }
    const zip = await ask('/gallery/download', 'GET')
    expect([...zip.keys()].filter((name) => name.endsWith('.png'))).toHaveLength(2)
    expect(String(zip.get('missing.txt'))).toMatch(
      /^The server could not read the files of these images\..*(\na-lighthouse.*){4}\n/,
    )

    const exported = await ask('/account/export', 'POST')
    for (const slug of others) expect(exported.has(`images/${slug}.png`)).toBe(true)
    expect(String(exported.get('missing.txt')).trim().split('\n').sort()).toEqual(cold.toSorted())

    const checks = await auditService(service.config, {
      ...{ sample: undefined, namespace: service.namespace },
      pause: async () => undefined,
    })
    expect(checks.filter(({ violations }) => violations > 0)).toMatchObject([
      { name: 'images-are-stored-intact', violations: 4 },
    ])
    const { rows } = await service.db.pool.query('SELECT sha256 FROM images WHERE slug = $1', [others[0]])
    const bytes = await wholeImageStore(service.config, service.db).read(others[0] as string)
    expect(
      createHash('sha256')
        .update(bytes as Buffer)
        .digest('hex'),
    ).toBe(rows[0].sha256)
    await expect(wholeImageStore(service.config, service.db).read(cold[0] as string)).rejects.toThrow(
      /in cold storage.*restore the object there/,
    )
  },
)

it('an image that was taken down is not found by the audit because the bucket did not let it be looked for once', async () => {
  const { service } = context
  const user = await givenUser(service.db, { credits: 20 })
  const body = { prompt: 'a lighthouse', width: 256, height: 256, steps: 20 }
  const answer = await call(service.url, 'POST', '/v1/images/generate', { key: user.key, body })
  const slug: string = answer.body.data.image_id
  expect((await call(service.url, 'DELETE', `/api/v1/images/${slug}`, { key: user.key })).status).toBe(204)
  const violated = async () => {
    const options = { sample: undefined, namespace: service.namespace, pause: async () => undefined }
    return (await auditService(service.config, options)).filter(({ violations }) => violations > 0)
  }
  await until(async () => (await violated()).every(({ examples }) => !examples?.includes(slug)), 'its file is gone')
  let isFirst = true
  s3.fault = ({ url = '' }, response) => {
    if (!isFirst || !url.includes(slug)) return 'pass'
    isFirst = false
    return refuse(response, 403, 'AccessDenied')
  }
  onTestFinished(() => {
    s3.fault = undefined
  })
  expect((await violated()).filter(({ examples }) => examples?.includes(slug))).toEqual([])
  expect(isFirst).toBe(false)
})

it.each([
  ['are in cold storage', false],
  ['were lost, where the key may not list and so is told nothing of it', true],
])('a ZIP and an export are made to their end where all images but one %s', async (_how, areLost) => {
  s3.hidesMissing = areLost
  const bucket = areLost ? 'lost' : 'frozen'
  const service = await startService({ worker: true, env: { INFERENCE_URL: 'preview:', ...(await s3.env(bucket)) } })
  onTestFinished(async () => {
    s3.fault = undefined
    s3.hidesMissing = false
    await service.close()
  })
  const user = await givenUser(service.db, { credits: 20 })
  const slugs: string[] = []
  for (let n = 0; n < 5; n++) {
    const body = { prompt: `n ${n}`, width: 256, height: 256, steps: 20 }
    slugs.push((await call(service.url, 'POST', '/v1/images/generate', { key: user.key, body })).body.data.image_id)
  }
  const [kept = '', ...gone] = slugs
  if (areLost) for (const slug of gone) await wholeImageStore(service.config, service.db).remove(slug)
  else
    s3.fault = ({ method, url = '' }, response) =>
      method === 'GET' && gone.some((slug) => url.includes(`${slug}.png`))
        ? refuse(response, 403, 'InvalidObjectState')
        : 'pass'
  const headers = { cookie: await givenSession(service.db, user), 'sec-fetch-site': 'same-origin' }
  const zip = await fetch(`${service.url}/gallery/download`, { headers })
  const files = unzipped(Buffer.from(await zip.arrayBuffer()))
  expect([...files.keys()]).toEqual([expect.stringMatching(/^n-0-/), 'missing.txt'])
  expect(String(files.get('missing.txt')).match(/^n-[1-4]-/gm)).toHaveLength(4)
  const exported = await fetch(`${service.url}/account/export`, {
    method: 'POST',
    headers,
    body: new URLSearchParams(),
  })
  const all = unzipped(Buffer.from(await exported.arrayBuffer()))
  expect(all.has(`images/${kept}.png`)).toBe(true)
  expect(String(all.get('missing.txt')).trim().split('\n').sort()).toEqual(gone.toSorted())
})
