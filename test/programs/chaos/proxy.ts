import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** What stands between Easel and a service; every connection that Easel has goes through it. */
export interface TcpProxy {
  readonly port: number
  /** Where connections go from now on. */
  target(port: number): void
  cut(): void
  /** Nothing arrives any more on any connection, in either direction, until `flow`. */
  stall(): void
  /** What the service answers is thrown away, until `flow`, which cuts those that lost something. */
  dropReplies(): void
  flow(): void
  /** Passes the next `times` requests that match on, and cuts their connection instead of passing the answer. */
  cutReplies(matching: RegExp, times: number): void
  /** Passes the next `times` requests that match, and then nothing more on their connections, which stay open. */
  silence(matching: RegExp, times: number): void
  /** How many answers `cutReplies` has swallowed so far. */
  swallowed(): number
  close(): void
}

interface Pair {
  readonly client: Socket
  readonly service: Socket
  doomed: 'cut' | 'silence' | undefined
  lostSomething: boolean
}

/** A TCP proxy on a loopback port that stays the same. */
export async function startProxy(targetPort: number): Promise<TcpProxy> {
  let to = targetPort
  let mode: 'flow' | 'stall' | 'drop' = 'flow'
  let armed: { readonly matching: RegExp; times: number; readonly doom: 'cut' | 'silence' } | undefined
  let swallowed = 0
  const pairs = new Set<Pair>()
  const arm = (doom: 'cut' | 'silence') => (matching: RegExp, times: number) => {
    armed = times > 0 ? { matching, times, doom } : undefined
  }
  const end = (pair: Pair) => {
    pairs.delete(pair)
    pair.client.destroy()
    pair.service.destroy()
  }

  const server = createServer((client) => {
    const service = connect(to, '127.0.0.1')
    const pair: Pair = { client, service, doomed: undefined, lostSomething: false }
    pairs.add(pair)
    for (const socket of [client, service]) {
      socket.setNoDelay(true)
      if (mode === 'stall') socket.pause()
      socket.on('error', () => undefined)
      socket.on('close', () => end(pair))
    }
    client.on('data', (data) => {
      if (armed?.matching.test(data.toString('latin1'))) {
        pair.doomed = armed.doom
        if (--armed.times === 0) armed = undefined
      }
      pass(data, client, service)
    })
    service.on('data', (data) => {
      // The answer has begun, so the service has done what it was asked.
      if (pair.doomed === 'cut') {
        swallowed++
        end(pair)
      } else if (pair.doomed === 'silence') return
      else if (mode === 'drop') pair.lostSomething = true
      else pass(data, service, client)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    port: (server.address() as AddressInfo).port,
    target: (port) => {
      to = port
    },
    cut: () => {
      for (const pair of pairs) end(pair)
    },
    stall: () => {
      mode = 'stall'
      for (const { client, service } of pairs) {
        client.pause()
        service.pause()
      }
    },
    dropReplies: () => {
      mode = 'drop'
    },
    flow: () => {
      mode = 'flow'
      for (const pair of pairs) {
        if (pair.lostSomething) end(pair)
        else {
          pair.client.resume()
          pair.service.resume()
        }
      }
    },
    cutReplies: arm('cut'),
    silence: arm('silence'),
    swallowed: () => swallowed,
    close: () => {
      server.close()
      for (const pair of pairs) end(pair)
    },
  }
}

function pass(data: Buffer, from: Socket, to: Socket): void {
  if (to.write(data)) return
  from.pause()
  to.once('drain', () => from.resume())
}
