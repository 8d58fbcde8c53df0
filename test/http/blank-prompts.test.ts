/** A prompt in which there is nothing to see is a missing one, wherever it comes in. */
import { describe, expect, it } from 'vitest'
import { call, expectCreateError, expectPersonalError, PROMPT } from '../support/client.js'
import { givenSession } from '../support/given-sign-in.js'
import { givenUser } from '../support/givens.js'
import { expectNoTrace } from '../support/refusal.js'
import { useService } from '../support/service.js'
import { standInWorker } from '../support/stand-in-worker.js'
import { textOf, visit } from '../support/website-client.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000000' } })

const BLANKS: Record<string, string> = {
  nothing: '',
  'ASCII white space': ' \t\n\v\f\r',
  'other white space': '\u0085\u00a0\u1680\u2000\u2007\u200a\u2028\u2029\u202f\u205f\u3000',
  'no width': '\u200b\u200c\u200d\u2060\ufeff',
  'marks of direction': '\u061c\u200e\u200f\u202a\u202e\u2066\u2069',
  'control characters': '\u0001\u0007\b\u001b\u007f\u0080\u009f',
  'variation selectors': '\ufe00\ufe0e\ufe0f\u180b\u{e0100}\u{e01ef}',
  tags: '\u{e0001}\u{e0020}\u{e0061}\u{e007f}',
  'the fillers of Hangul': '\u115f\u1160\u3164\uffa0',
  'the fillers of Khmer and Mongolian': '\u17b4\u17b5\u180e',
  'empty Braille': '\u2800\u2800',
  'soft hyphens and joiners': '\u00ad\u034f\u2061\u2064\u206a',
  'what is drawn as nothing in music and shorthand': '\u{1d159}\u{1d173}\u{1d17a}\u{1bca0}',
  'anchors of annotations': '\ufff9\ufffa\ufffb',
  'marks without a letter': '\u0301\u20dd',
  'characters that are none': '\ufdd0\uffff\u{10ffff}',
  'private use': '\ue000\u{f0000}',
  'all of it': '\u3164 \u200b\ufe0f\n\u2800\u{e0020}',
}
const SENTENCE = /^prompt is required and must not be blank\.$/
const SMALL = { width: 256, height: 256 }

describe.each(Object.entries(BLANKS))('a prompt of %s', (_what, prompt) => {
  it('is refused in the shape of each interface, and nothing is charged', async () => {
    const { url, db } = context.service
    const user = await givenUser(db)
    const { key } = user
    const post = (path: string, body: object, headers = {}) => call(url, 'POST', path, { key, body, headers })

    for (const path of ['/api/v1/generate', '/api/v1/generate?dry_run=true'])
      expectPersonalError(await post(path, { ...PROMPT, prompt }), 400, SENTENCE)
    expectPersonalError(await post('/api/v1/moderate', { prompt }), 400, SENTENCE)
    const created = await post('/v1/images/generate', { prompt })
    expectCreateError(created, 400, 'invalid_parameter', SENTENCE, { parameter: 'prompt' })
    const { status, body } = await post('/v1/images/generations', { prompt })
    expect([status, body]).toEqual([
      400,
      { error: expect.objectContaining({ message: expect.stringMatching(SENTENCE), param: 'prompt' }) },
    ])
    for (const name of ['generate_image', 'check_prompt']) {
      const asked = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { prompt } } }
      const answer = await post('/mcp', asked, { accept: 'application/json' })
      const content = [{ type: 'text', text: expect.stringMatching(SENTENCE) }]
      expect(answer.body).toMatchObject({ result: { isError: true, content } })
    }
    const cookie = await givenSession(db, user)
    const form = { prompt, model_version_id: `${PROMPT.model_version_id}`, shape: '1024x1024' }
    const page = await visit(url, '/playground', { cookie, body: form })
    expect(page.status).toBe(400)
    expect(textOf(page.html)).toContain('Write a prompt first.')
    await expectNoTrace(db, user)
  })

  it('is none where it is the negative one', async () => {
    const { url, db } = context.service
    const user = await givenUser(db)
    const body = { ...PROMPT, ...SMALL, negative_prompt: prompt }
    expect(await call(url, 'POST', '/api/v1/generate', { key: user.key, body })).toMatchObject({ status: 201 })
    const claimed = await standInWorker(db).claim()
    expect(claimed.negativePrompt).toBe('')
    await standInWorker(db).fail(claimed, 'The model broke.')
  })
})

it.each(['!', '7', '名', 'ن', '👍', '🫩', '☃︎', '\u200bcat', 'é', '，', 'ㅎ', '⠁'])(
  'a prompt of %j is one',
  async (prompt) => {
    const { url, db } = context.service
    const { key } = await givenUser(db)
    const body = { ...PROMPT, prompt }
    expect(await call(url, 'POST', '/api/v1/generate?dry_run=true', { key, body })).toMatchObject({ status: 200 })
  },
)
