import { request } from 'undici'

interface Caller {
  readonly key: string
}

/** Milliseconds on a clock that all processes share. */
export const now = (): number => performance.timeOrigin + performance.now()

/** The headers of a user's request. */
export const headersOf = ({ key }: Caller) => ({
  authorization: `Bearer ${key}`,
  'content-type': 'application/json',
})

/** Posts as this user. Resolves to what the answer says, and when it came. @throws Error unless it is a success */
export async function post<Answer>(url: string, user: Caller, asked: object) {
  const answer = await request(url, { method: 'POST', headers: headersOf(user), body: JSON.stringify(asked) })
  const at = now()
  if (answer.statusCode >= 300) throw new Error(`${url} answered ${answer.statusCode}: ${await answer.body.text()}`)
  return { at, said: (await answer.body.json()) as Answer }
}

/** Submits through the Personal Access API. */
export const submit = ({ url }: { readonly url: string }, user: Caller, asked: object = {}) =>
  post<{ readonly id: string }>(`${url}/api/v1/generate`, user, {
    prompt: 'a lighthouse at dusk',
    model_version_id: 10,
    ...asked,
  })
