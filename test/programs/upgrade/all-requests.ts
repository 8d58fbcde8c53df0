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
/** Drawn for longer than it takes to cancel it. */
const LARGE = { ...PROMPT, width: 1536, height: 2048, batch_size: 4 }

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

  for (const path of ['account', 'models', 'capabilities']) await ask('GET', `/api/v1/${path}`)
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
  const large = await ask('POST', generate, `${generate} large`, LARGE)
  await ask('POST', `${generate}/${large.id}/cancel`, `${generate}/{id}/cancel`)
  await ask('GET', `${generate}/${large.id}`, `${generate}/{id} canceled`)

  await ask('POST', '/v1/images/generate', undefined, { prompt: 'a lighthouse', width: 256, height: 256 })
  await ask('POST', '/v1/images/generations', undefined, { prompt: 'a lighthouse', size: '256x256' })
  await ask('GET', '/v1/models')
  await useAsAgent(url, key, note)

  for (const list of ['generations', 'images', 'credits']) await ask('GET', `/api/v1/${list}`)
  const [image] = ended.output.images
  await ask('GET', new URL(image.url).pathname, '/cdn/{image}')
  await ask('GET', `/api/v1/images/${image.id}`, '/api/v1/images/{id}')
  await ask('GET', `/api/v1/images/${image.id}/file`, '/api/v1/images/{id}/file')
  await visitEverything(url, username, `/image/${image.id}`, note)
  await ask('DELETE', `/api/v1/images/${image.id}`, '/api/v1/images/{id}')
  await ask('GET', `/image/${image.id}`, '/image/{id} removed')

  // The test's, and those of five generations and their images.
  await until(() => receiver.received.some(({ body }) => body.data?.id === generation.id), 'a webhook')
  await ask('GET', `${hooks}/${hook.id}/deliveries`, `${hooks}/{id}/deliveries`)
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

async function visitEverything(url: string, username: string, imagePage: string, note: Note): Promise<void> {
  const signedIn = await visit(url, '/sign-in', { body: { username, password: PASSWORD } })
  note('POST /sign-in', signedIn.status)
  const { cookie } = signedIn
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
