/** A primary with a standby that follows it, each behind a proxy of its own. */
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LocalPostgres, startLocalPostgres } from '../../src/local/postgres.js'
import { startProxy, type TcpProxy } from '../programs/chaos/proxy.js'
import { startStandby } from '../programs/chaos/standby.js'

const SETTINGS = { fsync: 'off' }

/** `nobody`: a host where nothing listens. */
export type Host = 'primary' | 'standby' | 'nobody'

export interface Replicated {
  readonly primary: LocalPostgres
  readonly standby: LocalPostgres
  /** What stands before each. */
  readonly networks: Readonly<Record<'primary' | 'standby', TcpProxy>>
  /** One more standby of the primary. */
  follow(): Promise<LocalPostgres>
  /** A URL of these hosts, in this order. */
  url(hosts: readonly Host[], target: string): string
  stop(): Promise<void>
}

export async function givenStandby(): Promise<Replicated> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'easel-standby-')))
  await chmod(directory, 0o755) // as root the servers run as someone else
  const dataDir = join(directory, 'primary')
  const primary = await startLocalPostgres({ dataDir, settings: SETTINGS })
  const standby = await startStandby(primary, dataDir, join(directory, 'standby'), SETTINGS)
  const more: LocalPostgres[] = []
  const networks = { primary: await startProxy(primary.port), standby: await startProxy(standby.port) }
  const { username, password, pathname } = new URL(primary.url)
  return {
    primary,
    standby,
    networks,
    url: (hosts, target) => {
      const addresses = hosts.map((host) => `127.0.0.1:${host === 'nobody' ? 1 : networks[host].port}`)
      return `postgres://${username}:${password}@${addresses}${pathname}?target_session_attrs=${target}`
    },
    async follow() {
      const one = await startStandby(primary, dataDir, join(directory, `standby-${more.length}`), SETTINGS)
      more.push(one)
      return one
    },
    async stop() {
      for (const one of more) await one.stop()
      for (const network of Object.values(networks)) network.close()
      await standby.stop()
      await primary.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
