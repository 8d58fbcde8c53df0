/** A browser of somebody on the website. */
import type { ChaosClient } from './client.js'
import type { Answered, Lost } from './history.js'

export interface Visitor {
  readonly name: string
  readonly password: string
  /** As VISITORS_MARK has it. */
  readonly mark: string
  /** Tries to sign in are limited by address. */
  readonly address: string
}

/** People arrive one by one: to sign in takes a core for a while. */
export const ARRIVE_MS = 5000

export type Browser = ReturnType<typeof openBrowser>

export function openBrowser(client: ChaosClient, { name: user, password, mark, address }: Visitor) {
  let cookie: string | undefined

  const send = async (
    name: string,
    method: 'GET' | 'POST',
    path: string,
    statuses: readonly number[],
    form?: Readonly<Record<string, string>>,
  ): Promise<Answered | undefined> => {
    const got: Answered | Lost = await client.send({
      ...{ user, asked: { what: 'page', name, statuses, mark }, method, path },
      headers: {
        accept: 'text/html',
        'sec-fetch-site': 'same-origin',
        'x-forwarded-for': address,
        ...(cookie && { cookie }),
        ...(method === 'POST' && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(method === 'POST' && { body: new URLSearchParams(form).toString() }),
    })
    return typeof got === 'string' || got.status >= 500 ? undefined : got
  }

  return {
    mark,
    isSignedIn: () => cookie !== undefined,
    get: async (name: string, path: string) => (await send(name, 'GET', path, [200]))?.page,
    post: (name: string, path: string, form?: Readonly<Record<string, string>>, statuses: readonly number[] = [303]) =>
      send(name, 'POST', path, statuses, form),

    async signIn(): Promise<boolean> {
      cookie = (await send('sign in', 'POST', '/sign-in', [303, 429], { username: user, password }))?.page?.cookie
      return cookie !== undefined
    },

    /** Afterwards a copy of the cookie is of no use. */
    async signOut(): Promise<void> {
      const answered = await send('sign out', 'POST', '/sign-out', [303])
      // Where the answer was lost, the session may have ended or not.
      if (answered?.status === 303) await send('keys with an old cookie', 'GET', '/keys', [303])
      cookie = undefined
    },

    /** As somebody who is not signed in. */
    /** @param inFaults how it may be answered while something is out of order, besides */
    asStranger: (name: string, path: string, status: number, inFaults?: readonly number[]) =>
      client.send({
        ...{ user, asked: { what: 'page', name, statuses: [status], inFaults, mark }, method: 'GET', path },
        headers: { accept: 'text/html', 'x-forwarded-for': address },
      }),

    callWith: (apiKey: string, status: number, name: string) =>
      client.send({
        ...{ user, asked: { what: 'probe', name, status, createImage: false } },
        ...{ method: 'GET', path: '/api/v1/account', apiKey },
      }),
  }
}
