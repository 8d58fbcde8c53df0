/** The website over HTTP, as a browser without scripts asks for its pages and sends its forms. */

interface Sent {
  /** Sent as a form. Pairs where a name comes more than once. */
  readonly body?: Readonly<Record<string, string>> | readonly (readonly [string, string])[] | undefined
  readonly cookie?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** @param method POST with a body and GET without one, if it is left out */
export async function visit(url: string, path: string, { body, cookie, headers }: Sent = {}, method?: string) {
  const answer = await fetch(url + path, {
    method: method ?? (body ? 'POST' : 'GET'),
    redirect: 'manual',
    headers: { accept: 'text/html', 'sec-fetch-site': 'same-origin', ...(cookie && { cookie }), ...headers },
    ...(body && { body: new URLSearchParams(body as Record<string, string>) }),
  })
  const { status, headers: answered } = answer
  const [set = ''] = answered.getSetCookie()
  return {
    status,
    headers: answered,
    location: answered.get('location'),
    html: await answer.text(),
    /** What it sets, as it is sent back. */
    cookie: set.split(';')[0] || undefined,
    /** What else it says of that cookie. */
    attributes: set,
  }
}

/** @param origin read at each request: in most tests the service starts after the file has loaded */
export const formsOf = (origin: () => string) => ({
  send: (method: string, path: string, sent?: Sent) => visit(origin(), path, sent, method),
})

/** What a person reads of a page, without its tags. */
export const textOf = (html: string): string =>
  html
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
