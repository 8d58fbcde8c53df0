/** One account that uses everything that a release offers, and what it was answered. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { PROMPT } from '../../support/client.js'
import { PASSWORD } from '../../support/given-sign-in.js'
import { until } from '../../support/until.js'
import { givenReceiver } from '../../support/webhook-receiver.js'
import { visit } from '../../support/website-client.js'

/** An operator with a subscription, credits, and PASSWORD. */
export interface Everyone {
  readonly username: string
  readonly key: string
}

const SMALL = { ...PROMPT, width: 256, height: 256, steps: 4 }
/** A model that nobody else draws with: while it is paused, what is asked of it waits. */
const UNUSED = 13

const PAGES = [
  ...['/playground', '/gallery', '/keys', '/webhooks', '/account', '/docs', '/docs.md', '/openapi.json'],
  ...['/operator', '/operator/users', '/operator/models', '/operator/images', '/operator/moderation', '/operator/log'],
]

/** By request: the status, and of JSON its fields and their types. The rate limit must allow some fifty requests. */
export async function useEverything(url: string, { username, key }: Everyone): Promise<Record<string, string>> {
  const seen: Record<string, string> = {}
  const note = (request: string, status: number, body?: unknown) => {
    seen[request] = `${status}${body === undefined ? '' : ` ${JSON.stringify(shapeOf(body))}`}`
  }
  /** `name`: the path as it is described, where it holds an ID; a word behind it tells two uses apart. */
  const ask = async (method: string, path: string, name = path, body?: unknown, more = {}) => {
    const headers = {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const sent = { method, headers: { ...headers, ...more }, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const answer = await fetch(url + path, sent)
    const isJson = answer.headers.get('content-type')?.includes('json')
    const text = await answer.text()
    const answered = isJson ? JSON.parse(text) : undefined
    note(`${method} ${name}`, answer.status, answered)
    return answered
  }

  for (const path of ['account', 'capabilities']) await ask('GET', `/api/v1/${path}`)
  const { models } = await ask('GET', '/api/v1/models')
  await ask('POST', '/api/v1/moderate', undefined, { prompt: PROMPT.prompt })

  const receiver = await givenReceiver()
  const hooks = '/api/v1/webhooks'
  const hook = await ask('POST', hooks, undefined, { url: receiver.url })
  await ask('GET', hooks)
  await ask('GET', `${hooks}/${hook.id}`, `${hooks}/{id}`)
  await ask('POST', `${hooks}/${hook.id}/test`, `${hooks}/{id}/test`)

  const generate = '/api/v1/generate'
  const once = { 'idempotency-key': 'once' }
  const generation = await ask('POST', generate, undefined, SMALL, once)
  const replayed = await ask('POST', generate, `${generate} again`, SMALL, once)
  if (replayed.id !== generation.id) throw new Error('an Idempotency-Key was charged twice')
  const path = `${generate}/${generation.id}`
  const events = await (await fetch(`${url}${path}/events`, { headers: { authorization: `Bearer ${key}` } })).text()
  note(`GET ${generate}/{id}/events`, Number(/"status":"succeeded"/.test(events)))
  const ended = await ask('GET', path, `${generate}/{id}`)

  const { cookie, ...signedIn } = await visit(url, '/sign-in', { body: { username, password: PASSWORD } })
  note('POST /sign-in', signedIn.status)
  const { filename } = models.find((it: { id: number }) => it.id === UNUSED)
  const body = { what: `model ${filename}`, reason: 'its work is to be canceled' }
  note('POST /operator/pause', (await visit(url, '/operator/pause', { cookie, body })).status)
  const waiting = await ask('POST', generate, `${generate} paused`, { ...SMALL, model_version_id: UNUSED })
  await ask('GET', `${generate}/${waiting.id}`, `${generate}/{id} queued`)
  await ask('POST', `${generate}/${waiting.id}/cancel`, `${generate}/{id}/cancel`)
  await ask('GET', `${generate}/${waiting.id}`, `${generate}/{id} canceled`)
  note('POST /operator/resume', (await visit(url, '/operator/resume', { cookie, body })).status)

  await ask('POST', '/v1/images/generate', undefined, { prompt: 'a lighthouse', width: 256, height: 256 })
  await ask('POST', '/v1/images/generations', undefined, { prompt: 'a lighthouse', size: '256x256' })
  await ask('GET', '/v1/models')
  await useAsAgent(url, key, note)

  for (const list of ['generations', 'images', 'credits']) await ask('GET', `/api/v1/${list}`)
  const [image] = ended.output.images
  await ask('GET', new URL(image.url).pathname, '/cdn/{image}')
  await ask('GET', `/api/v1/images/${image.id}`, '/api/v1/images/{id}')
  await ask('GET', `/api/v1/images/${image.id}/file`, '/api/v1/images/{id}/file')
  await visitEverything(url, username, cookie, `/image/${image.id}`, note)
  await ask('DELETE', `/api/v1/images/${image.id}`, '/api/v1/images/{id}')
  await ask('GET', `/image/${image.id}`, '/image/{id} removed')

  // Those of the test and of every generation: of what is still being sent other fields are null.
  await until(async () => {
    const { deliveries } = await ask('GET', `${hooks}/${hook.id}/deliveries`, `${hooks}/{id}/deliveries`)
    return deliveries.every(({ status }: { status: string }) => status === 'delivered')
  }, 'all webhooks being delivered')
  if (!receiver.received.some(({ body }) => body.data?.id === generation.id)) throw new Error('a webhook was not sent')
  await ask('POST', `${hooks}/${hook.id}/rotate-secret`, `${hooks}/{id}/rotate-secret`)
  await ask('DELETE', `${hooks}/${hook.id}`, `${hooks}/{id}`)
  return seen
}

type Note = (request: string, status: number, body?: unknown) => void

async function useAsAgent(url: string, key: string, note: Note): Promise<void> {
  const client = new Client({ name: 'test', version: '1' })
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }) as never)
  const drawn = await client.callTool({ name: 'generate_image', arguments: { ...PROMPT, width: 256, height: 256 } })
  note('POST /mcp generate_image', Number(!drawn.isError), drawn.structuredContent)
  const listed = await client.callTool({ name: 'list_images', arguments: {} })
  note('POST /mcp list_images', Number(!listed.isError), listed.structuredContent)
  await client.close()
}

async function visitEverything(
  url: string,
  username: string,
  cookie: string | undefined,
  imagePage: string,
  note: Note,
): Promise<void> {
  const send = async (path: string, body?: Record<string, string>, name = path) => {
    const { status, html } = await visit(url, path, { cookie, ...(body && { body }) })
    note(`${body ? 'POST' : 'GET'} ${name}`, status)
    return html
  }
  for (const page of PAGES) await send(page)
  await send(imagePage, undefined, '/image/{id}')
  await send(`/operator/users/${username}`, undefined, '/operator/users/{name}')
  await send('/keys', { name: 'one more' })
  const revoke = /action="(\/keys\/[0-9a-f-]{36}\/revoke)"/.exec(await send('/keys', undefined, '/keys with one'))?.[1]
  await send(revoke as string, {}, '/keys/{id}/revoke')
  const form = { prompt: 'a lighthouse', model_version_id: '10', batch_size: '1', shape: '256x256', steps: '4' }
  await send('/playground', form)
  await until(async () => !/\/cancel"/.test((await visit(url, '/playground', { cookie })).html), 'the playground’s end')
  await send('/sign-out', {})
}

/** Of a list its first member's; the values are left out. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf)
  if (typeof value !== 'object' || value === null) return value === null ? null : typeof value
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(fields.map(([name, it]) => [name, shapeOf(it)]))
}
