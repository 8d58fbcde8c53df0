import { once } from 'node:events'
import { request, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { startSwitchableServer } from './switchable-server.js'

export interface GivingUpProxy {
  /** The entry of INFERENCE_URL with the proxy's host and port in place of its server's. */
  through(inferenceUrl: string): string
  /** How many requests it has given up. */
  readonly givenUp: () => number
  close(): Promise<void>
}

/**
 * An HTTP proxy that gives up a request when that `isLate`, as nginx, HAProxy or Cloudflare do with a drawing that takes
 * longer than their time-out: it answers with this status, or cuts the connection, while the server behind goes on.
 * @param isLate resolves when to give up the request with this path and body; never, if it is in time
 */
export async function startGivingUpProxy(
  target: string,
  isLate: (path: string, body: string) => Promise<unknown>,
  how: number | 'cut' = 504,
): Promise<GivingUpProxy> {
  let givenUp = 0
  const giveUp = (response: ServerResponse) => {
    if (response.headersSent || response.destroyed) return
    givenUp++
    if (how === 'cut') response.destroy()
    else response.writeHead(how, { 'content-type': 'text/html' }).end(`<html><title>${how} Gateway</title></html>`)
  }
  const proxy = await startSwitchableServer(async (incoming, response) => {
    const { method, url: path = '/', headers } = incoming
    const body = await buffer(incoming)
    const upstream = request(new URL(path, target), { method, headers: { ...headers, 'content-length': body.length } })
    upstream.end(body)
    void isLate(path, body.toString()).then(() => giveUp(response))
    const [answer] = await once(upstream, 'response')
    // The server's answer to what was given up is thrown away.
    const whole = await buffer(answer)
    if (!response.headersSent)
      response.writeHead(answer.statusCode, { 'content-type': answer.headers['content-type'] }).end(whole)
  })
  return {
    through: (url) => Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(proxy.port) }).href,
    givenUp: () => givenUp,
    close: proxy.refuse,
  }
}
