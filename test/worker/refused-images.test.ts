/** An image that IMAGE_MODERATION_URL refuses, by every interface, from a worker that puts its images via the server. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { startModerationStandIn } from '../stand-ins/moderation/moderation-stand-in.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { givenSession } from '../support/given-sign-in.js'
import { creditsOf, type GivenUser, givenUser } from '../support/givens.js'
import { type S3Server, startS3 } from '../support/s3-server.js'
import { useService } from '../support/service.js'
import { until } from '../support/until.js'
import { visit } from '../support/website-client.js'

const endpoint = await startModerationStandIn()
const directory = await mkdtemp(join(tmpdir(), 'easel-refused-'))
let s3: S3Server
beforeAll(async () => {
  s3 = await startS3(directory)
})
const context = useService(async () => ({
  env: {
    ...(await s3.env('easel')),
    UPLOAD_VIA: 'server',
    UPLOAD_SECRET: 'a secret of servers and workers, long enough',
    RATE_LIMIT_MAX: '1000',
  },
}))
beforeAll(async () => {
  const { service } = context
  const noKey = { S3_ACCESS_KEY_ID: '', S3_SECRET_ACCESS_KEY: '', BASE_URL: service.url }
  await service.worker({}, { ...noKey, INFERENCE_URL: 'preview:', IMAGE_MODERATION_URL: endpoint.endpoint })
})
afterAll(async () => {
  await Promise.all([endpoint.close(), s3.close()])
  await rm(directory, { recursive: true, force: true, maxRetries: 20 })
})
beforeEach(() => endpoint.set({ flags: ['sexual/minors'] }))

const SMALL = { width: 256, height: 256, steps: 1 }
const REFUSED = 'An image was refused by moderation.'

async function useTool({ key }: GivenUser, name: string, args: object) {
  const client = new Client({ name: 'test', version: '1' })
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  const { url } = context.service
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }) as never)
  onTestFinished(() => client.close())
  return JSON.stringify(await client.callTool({ name, arguments: { ...args } }))
}

/** By interface: asks for an image. @returns all that the interface shows of it, once it has ended */
const INTERFACES: Readonly<Record<string, (user: GivenUser) => Promise<string>>> = {
  'the Personal API': async (user) => {
    const body = { ...PROMPT, ...SMALL }
    const { body: submitted } = await call(context.service.url, 'POST', '/api/v1/generate', { key: user.key, body })
    const end = await endOf(context.service, user, submitted.id)
    const { body: images } = await call(context.service.url, 'GET', '/api/v1/images', { key: user.key })
    return JSON.stringify([end, images])
  },
  'OpenAI’s form': async ({ key }) => {
    const body = { prompt: 'a lighthouse', model: '10', size: '256x256', response_format: 'b64_json' }
    const { body: answer } = await call(context.service.url, 'POST', '/v1/images/generations', { key, body })
    return JSON.stringify(answer)
  },
  MCP: async (user) => {
    const drawn = await useTool(user, 'generate_image', { prompt: 'a lighthouse', ...SMALL })
    return drawn + (await useTool(user, 'list_images', {}))
  },
  'the playground and the gallery': async (user) => {
    const { url, db } = context.service
    const cookie = await givenSession(db, user)
    const form = { model_version_id: '10', shape: '256x256', batch_size: '1', steps: '1', cfg_scale: '7', seed: '' }
    const body = { prompt: 'a lighthouse', negative_prompt: '', sampler: 'euler_a', ...form }
    expect((await visit(url, '/playground', { cookie, body })).status).toBe(303)
    const playground = await until(async () => {
      const { html } = await visit(url, '/playground', { cookie })
      return html.includes(REFUSED) && html
    }, 'the refusal in the playground')
    return playground + (await visit(url, '/gallery', { cookie })).html
  },
}

async function slugsOf({ id }: GivenUser) {
  const { rows } = await context.service.db.pool.query('SELECT slugs FROM generations WHERE user_id = $1', [id])
  return rows.flatMap(({ slugs }) => slugs as string[])
}
const stored = async () => (await readdir(directory, { recursive: true })).join('\n')

it.each(Object.entries(INTERFACES))('is neither stored nor shown by %s', async (_name, ask) => {
  const { db, url } = context.service
  const user = await givenUser(db, { credits: 5 })
  const shown = await ask(user)
  expect(shown).toContain(REFUSED)
  expect(shown).not.toMatch(/minors|base64,|"b64_json"|"type":"image"/)
  const slugs = await slugsOf(user)
  expect(slugs).toHaveLength(1)
  for (const slug of slugs) {
    expect(shown).not.toContain(slug)
    expect(await stored()).not.toContain(slug)
    for (const path of [`/cdn/${slug}.png`, `/cdn/${slug}.webp`, `/image/${slug}`])
      expect((await fetch(url + path)).status).toBe(404)
  }
  expect(await creditsOf(db, user)).toBe(5)
})

it('is stored where it is not refused, so it would have been found', async () => {
  endpoint.set({ flags: [] })
  const user = await givenUser(context.service.db)
  const shown = await (INTERFACES['the Personal API'] as (user: GivenUser) => Promise<string>)(user)
  const [slug = 'none'] = await slugsOf(user)
  expect(shown).toContain(slug)
  expect(await stored()).toContain(slug)
})
