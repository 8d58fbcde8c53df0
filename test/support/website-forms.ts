/** The website's pages and forms over HTTP, as a browser would ask for them. */
export interface Answered {
  readonly status: number
  readonly location: string | null
  readonly html: string
}

/** @param body makes it a form that is sent */
export async function visit(
  url: string,
  path: string,
  cookie: string | undefined,
  body?: Readonly<Record<string, string>>,
): Promise<Answered> {
  const answer = await fetch(url + path, {
    method: body ? 'POST' : 'GET',
    redirect: 'manual',
    headers: { accept: 'text/html', 'sec-fetch-site': 'same-origin', ...(cookie && { cookie }) },
    ...(body && { body: new URLSearchParams(body) }),
  })
  return { status: answer.status, location: answer.headers.get('location'), html: await answer.text() }
}
