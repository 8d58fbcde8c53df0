/** Requests as a browser sends them for a form. */

interface Sent {
  readonly cookie?: string | undefined
  /** Posted as a form; without one it is a GET. Pairs where a name comes more than once. */
  readonly body?: Readonly<Record<string, string>> | readonly (readonly [string, string])[]
  readonly headers?: Readonly<Record<string, string>>
}

export async function submit(url: string, path: string, { cookie, body, headers }: Sent = {}) {
  const answer = await fetch(url + path, {
    method: body ? 'POST' : 'GET',
    redirect: 'manual',
    headers: { accept: 'text/html', 'sec-fetch-site': 'same-origin', ...(cookie && { cookie }), ...headers },
    ...(body && { body: new URLSearchParams(body as Record<string, string>) }),
  })
  const { status, headers: answered } = answer
  return { status, headers: answered, location: answered.get('location'), html: await answer.text() }
}
