import { Pool } from 'undici'

export interface Load {
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
}

export interface LoadRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

/**
 * Sends requests over a fixed number of connections, each waiting for its answer before the next, for a fixed time.
 * @throws Error when an answer has another status than expected
 */
export async function load(
  url: string,
  request: (n: number) => LoadRequest,
  options: { readonly connections: number; readonly seconds: number; readonly status: number },
): Promise<Load> {
  const { connections, seconds, status } = options
  const pool = new Pool(url, { connections, pipelining: 1 })
  const times: number[] = []
  let sent = 0
  const begin = performance.now()
  const end = begin + seconds * 1000
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < end) {
        const { method, path, headers, body } = request(sent++)
        const at = performance.now()
        const answer = await pool.request({ method, path, headers: headers ?? {}, body: body ?? null })
        const text = await answer.body.text()
        times.push(performance.now() - at)
        if (answer.statusCode !== status) throw new Error(`${method} ${path} answered ${answer.statusCode}: ${text}`)
      }
    }),
  )
  const took = (performance.now() - begin) / 1000
  await pool.close()
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0
  return { perSecond: times.length / took, p50: at(0.5), p99: at(0.99) }
}
