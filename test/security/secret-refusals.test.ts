/** What is told of a refusal about minors: on no interface the words that were found, or advice, to try around it with. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { startModerationStandIn } from '../stand-ins/moderation/moderation-stand-in.js'
import { type Answer, call, PROMPT } from '../support/client.js'
import { givenSession } from '../support/given-sign-in.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'
import { until } from '../support/until.js'
import { visit } from '../support/website-client.js'

const endpoint = await startModerationStandIn()
afterAll(() => endpoint.close())

interface Asked {
  readonly prompt: string
  readonly negative_prompt?: string
}
/** An interface: all that it answers to a request, as text. */
type Ask = (user: GivenUser, asked: Asked) => Promise<string>

const service = useService({
  env: { RATE_LIMIT_MAX: '100000', MODERATION_URL: endpoint.endpoint },
})
const url = () => service.service.url
const all = ({ body, headers }: Answer) => JSON.stringify([body, [...headers]])
const post = async ({ key }: GivenUser, path: string, body: object, headers = {}) =>
  all(await call(url(), 'POST', path, { key, body, headers }))

async function useTool({ key }: GivenUser, name: string, args: object) {
  const client = new Client({ name: 'test', version: '1' })
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url()}/mcp`), { requestInit }) as never)
  onTestFinished(() => client.close())
  return JSON.stringify(await client.callTool({ name, arguments: { ...args } }))
}

const FORM = {
  model_version_id: '10',
  shape: '832x1216',
  batch_size: '1',
  steps: '30',
  cfg_scale: '7',
  sampler: 'euler_a',
}
async function sendForm(user: GivenUser, path: string, asked: Asked, headers = {}) {
  const body = { ...FORM, negative_prompt: '', seed: '', ...asked }
  const cookie = await givenSession(service.service.db, user)
  return (await visit(url(), path, { cookie, body, headers })).html
}

/** These would charge: they name the category. */
const SUBMITS: Readonly<Record<string, Ask>> = {
  'the Personal API': (user, asked) => post(user, '/api/v1/generate', { ...PROMPT, ...asked }),
  'a repeat by its Idempotency-Key': async (user, asked) => {
    const body = { ...PROMPT, ...asked }
    await post(user, '/api/v1/generate', body, { 'idempotency-key': 'k' })
    return post(user, '/api/v1/generate', body, { 'idempotency-key': 'k' })
  },
  'Create Image': (user, asked) => post(user, '/v1/images/generate', asked),
  'OpenAI’s form': (user, asked) => post(user, '/v1/images/generations', { ...asked, model: '10' }),
  'MCP’s generate_image': (user, asked) => useTool(user, 'generate_image', asked),
  'the playground': (user, asked) => sendForm(user, '/playground', asked),
  'the playground in place': (user, asked) => sendForm(user, '/playground', asked, { 'hx-request': 'true' }),
}
/** These cost nothing: they say only that the prompt is refused. */
const FREE: Readonly<Record<string, Ask>> = {
  'a dry run': (user, asked) => post(user, '/api/v1/generate?dry_run=true', { ...PROMPT, ...asked }),
  'POST /api/v1/moderate': (user, asked) => post(user, '/api/v1/moderate', asked),
  'MCP’s check_prompt': (user, asked) => useTool(user, 'check_prompt', asked),
}
const typed: Ask = (user, asked) => sendForm(user, '/playground/check', asked, { 'hx-request': 'true' })
const CAN_NOT_AVOID = ['OpenAI’s form']

/** By what finds it: the request, and the words that are found, as pages and answers would show them. */
const FOUND: Readonly<Record<string, { asked: Asked; flags: string[]; words: RegExp }>> = {
  'the rules in a prompt': { asked: { prompt: 't0pless sch00lgirl' }, flags: [], words: /topless|schoolgirl/i },
  'the rules in a negative prompt': {
    asked: { prompt: 'a ch1ld', negative_prompt: 'cl0thes' },
    flags: [],
    words: /\bchild\b|\bclothes\b/i,
  },
  'the endpoint': {
    asked: { prompt: 'a lighthouse' },
    flags: ['sexual', 'sexual/minors'],
    words: /lighthouse\W*[)”]/i,
  },
}
const ADVICE = /rephras|reword|other words|another prompt|matched:|correct the/i
const namesOf = (interfaces: Readonly<Record<string, Ask>>, { asked }: { asked: Asked }) =>
  Object.entries(interfaces).filter(([name]) => !(asked.negative_prompt && CAN_NOT_AVOID.includes(name)))

describe.each(Object.entries(FOUND))('of what %s shows about minors', (_by, found) => {
  const { asked, flags, words } = found
  beforeEach(() => endpoint.set({ flags }))
  const noted = async ({ id }: GivenUser) =>
    (await service.service.db.pool.query('SELECT category FROM refused_prompts WHERE user_id = $1', [id])).rows

  it.each(namesOf(SUBMITS, found))('%s tells neither words nor advice, and makes nothing', async (_name, ask) => {
    const { db } = service.service
    const user = await givenUser(db, { credits: 5 })
    const answer = await ask(user, asked)
    expect(answer).toMatch(/Prompt flagged by moderation: sexual[\w ,/]*minors\./)
    expect(answer).not.toMatch(words)
    expect(answer).not.toMatch(ADVICE)
    await until(async () => (await noted(user)).length > 0, 'the note for operators')
    // So nothing can be polled, listed or sent to a webhook.
    expect((await db.pool.query('SELECT FROM generations WHERE user_id = $1', [user.id])).rowCount).toBe(0)
  })

  it.each(namesOf(FREE, found))('%s tells nothing but that it is refused, and operators see it', async (_name, ask) => {
    const user = await givenUser(service.service.db)
    const answer = await ask(user, asked)
    expect(answer).toMatch(/refused?\b|"flagged":true/)
    expect(answer).not.toMatch(/minors|sexual/i)
    expect(answer).not.toMatch(words)
    expect(answer).not.toMatch(ADVICE)
    await until(async () => (await noted(user)).length > 0, 'the note for operators')
    expect(await noted(user)).toEqual([{ category: expect.stringContaining('minors') }])
  })

  it('what is still being typed goes to nobody outside', async () => {
    const before = endpoint.journal.length
    const user = await givenUser(service.service.db)
    await typed(user, { prompt: 'a lighthouse, not written to its end' })
    await FREE['a dry run']?.(user, { prompt: 'a lighthouse' })
    expect(endpoint.journal.slice(before).map(({ body }) => body?.input)).toEqual(['a lighthouse'])
  })

  it('what is still being typed is no refusal yet: it is not kept, and nothing is said, so that nobody can try unseen', async () => {
    const user = await givenUser(service.service.db)
    expect(await typed(user, asked)).toBe('')
    // Notes of an account come one after the other.
    await FREE['a dry run']?.(user, asked)
    await until(async () => (await noted(user)).length > 0, 'the note of what came later')
    expect(await noted(user)).toHaveLength(1)
  })
})

// So the words would be seen above if they were told.
it.each([...Object.entries(SUBMITS), ...Object.entries(FREE), ['the check of what is typed', typed] as const])(
  '%s tells the words of other categories',
  async (_name, ask) => {
    endpoint.set({ flags: [] })
    expect(await ask(await givenUser(service.service.db), { prompt: 'necrophil1a' })).toMatch(/necrophil\W/)
  },
)
