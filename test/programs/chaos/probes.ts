/** Requests whose answer is known beforehand, whatever state the service is in (but for 503). */
export interface Probe {
  readonly name: string
  readonly status: number
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Another key than the user's own. */
  readonly apiKey?: string
  /** Answered in Create Image's envelope. */
  readonly createImage?: boolean
}

const submit = (name: string, body: unknown, status = 400): Probe => ({
  ...{ name, status, method: 'POST', path: '/api/v1/generate', body },
})

const create = (name: string, body: unknown, status = 400): Probe => ({
  ...{ name, status, method: 'POST', path: '/v1/images/generate', body, createImage: true },
})

export const PROBES: readonly Probe[] = [
  { name: 'models', status: 200, method: 'GET', path: '/api/v1/models' },
  { name: 'unknown id', status: 404, method: 'GET', path: '/api/v1/generate/gen_00000000000000000000000000' },
  { name: 'odd id', status: 404, method: 'GET', path: '/api/v1/generate/%00%27--' },
  { name: 'no id', status: 400, method: 'GET', path: '/api/v1/generate' },
  { name: 'unknown route', status: 404, method: 'GET', path: '/api/v1/nothing' },
  { name: 'no key', status: 401, method: 'GET', path: '/api/v1/account', apiKey: 'none' },
  submit('no prompt', { model_version_id: 10 }),
  submit('NUL', { prompt: 'a\0b', model_version_id: 10 }),
  submit('a number too large', '{"prompt":"a","model_version_id":10,"seed":1e309}'),
  submit('half a body', '{"prompt":'),
  submit('unknown field', { prompt: 'a', model_version_id: 10, prommpt: 'b' }),
  submit('unknown model', { prompt: 'a', model_version_id: 2 ** 60 }, 404),
  create('odd size', { prompt: 'a', width: 257 }),
  create('too few steps', { prompt: 'a', steps: 1 }),
  create('half a body', '{"prompt":'),
]
