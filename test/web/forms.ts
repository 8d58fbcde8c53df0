/** The website as a browser without scripts sends and reads it. */
export interface Sent {
  readonly body?: Readonly<Record<string, string>>
  readonly cookie?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** @param origin read at each request: in most tests the service starts after the file has loaded */
export function formsOf(origin: () => string) {
  const send = async (method: string, path: string, { body, cookie, headers }: Sent = {}) => {
    const answer = await fetch(origin() + path, {
      method,
      redirect: 'manual',
      headers: { accept: 'text/html', 'sec-fetch-site': 'same-origin', ...(cookie && { cookie }), ...headers },
      ...(body && { body: new URLSearchParams(body) }),
    })
    const [set] = answer.headers.getSetCookie()
    return {
      status: answer.status,
      location: answer.headers.get('location'),
      cookie: set?.split(';')[0],
      attributes: set ?? '',
      html: await answer.text(),
    }
  }
  return { send }
}
