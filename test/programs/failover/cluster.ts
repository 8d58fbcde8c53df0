/** Two Postgres servers under Patroni with an etcd; as root each has a network of its own, which can be cut off. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readdirSync } from 'node:fs'
import { chown, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../../support/free-port.js'
import { findProgram } from '../../support/programs.js'
import { until } from '../../support/until.js'

const run = promisify(execFile)

/** What docs/operators.md recommends; Patroni takes no shorter ttl. */
const TIMES = { ttl: 20, loop_wait: 2, retry_timeout: 3, primary_start_timeout: 0 }
const PASSWORD = 'failover'
const NAMES: readonly [string, string] = ['pg1', 'pg2']
/** Debian's `nobody`: Postgres refuses to run as root. */
const NOBODY = 65534
const PATIENCE_MS = 120_000
/** Seconds, of which each is one question. */
const SILENT_TIMES = 4

export interface Programs {
  readonly patroni: string
  readonly etcd: string
  /** The folder with pg_basebackup and pg_rewind. */
  readonly postgres: string
}

/** @throws Error with one sentence that names what is missing */
export function findPrograms(): Programs {
  const debian = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql').sort((a, b) => +b - +a) : []
  const folders = [...(process.env.PATH ?? '').split(':'), ...debian.map((it) => `/usr/lib/postgresql/${it}/bin`)]
  const postgres = folders.find((it) => existsSync(join(it, 'pg_basebackup')) && existsSync(join(it, 'initdb')))
  const patroni = findProgram('patroni')
  const etcd = findProgram('etcd')
  if (patroni && etcd && postgres) return { patroni, etcd, postgres }
  const missing = Object.entries({ patroni, etcd, 'pg_basebackup and initdb': postgres }).filter(([, path]) => !path)
  throw new Error(`Not on the PATH: ${missing.map(([name]) => name).join(', ')}. The README says how to get them.`)
}

/** What happens to the machine of a primary. `switchover`: on purpose; `crash`: only its Postgres dies, and Patroni lives. */
export type Fault = 'switchover' | 'crash' | 'kill' | 'hang' | 'cut'

export interface Cluster {
  /** Of all hosts, to be written with the database. */
  readonly url: string
  /** The name of the host that takes writes now; undefined: none does. */
  primary(): Promise<string | undefined>
  /** Whether the other host follows, and whether what is acknowledged is on it. */
  state(): Promise<'sync' | 'async' | undefined>
  /** From now on nothing that a host writes reaches the other one. False: that can't be done here. */
  isolate(name: string): Promise<boolean>
  strike(name: string, fault: Fault): Promise<void>
  /** Takes the leader's key from a primary that has said nothing for four seconds, which Patroni would wait for. */
  depose(name: string): Promise<void>
  /** The machine is back. */
  heal(name: string, fault: Fault): Promise<void>
}

/** @param stops is told of everything that is started, the last of which is to be stopped first */
export async function startCluster(
  programs: Programs,
  directory: string,
  synchronous: boolean,
  stops: (() => Promise<unknown>)[],
): Promise<Cluster> {
  const network = await openNetwork()
  stops.push(network.close)
  const etcd = await startEtcd(programs, directory, network.host)
  stops.push(etcd.stop)
  const nodes = new Map<string, Node>()
  for (const name of NAMES) {
    const node = await startNode(programs, join(directory, name), name, network, etcd.address, synchronous)
    stops.push(node.stop)
    nodes.set(name, node)
    // The first one makes the cluster, and the other copies it.
    await until(async () => ['primary', 'replica'].includes((await node.status()) ?? ''), `${name} to run`, PATIENCE_MS)
  }
  const nodeOf = (name: string) => nodes.get(name) as Node
  const primary = async () => {
    const roles = await Promise.all([...nodes].map(async ([name, node]) => ({ name, role: await node.status() })))
    return roles.find(({ role }) => role === 'primary')?.name
  }
  const addresses = [...nodes.values()].map((node) => node.address)
  return {
    url: `postgres://postgres:${PASSWORD}@${addresses}/easel?target_session_attrs=read-write`,
    primary,
    async state() {
      const { members = [] } = await etcd.members(nodeOf((await primary()) ?? NAMES[0]))
      const follower = members.find(({ role }) => role !== 'leader')
      if (follower?.state !== 'streaming') return undefined
      return follower.role === 'sync_standby' ? 'sync' : 'async'
    },
    isolate: (name) => network.isolate(name),
    strike: (name, fault) => nodeOf(name).strike(fault),
    async depose(name) {
      let silent = 0
      while (silent < SILENT_TIMES) {
        const [status] = await Promise.all([nodeOf(name).status(), delay(1000)])
        silent = status ? 0 : silent + 1
      }
      await etcd.remove('/service/easel/leader')
    },
    async heal(name, fault) {
      await network.join(name)
      await nodeOf(name).heal(fault)
    },
  }
}

interface Network {
  /** Where etcd and Easel are. */
  readonly host: string
  readonly canCut: boolean
  addressOf(name: string): Promise<{ readonly host: string; readonly port: number; readonly api: number }>
  /** What runs a program in the network of a node. */
  within(name: string): readonly string[]
  cut(name: string): Promise<unknown>
  /** See `Cluster`. */
  isolate(name: string): Promise<boolean>
  /** Ends the two. */
  join(name: string): Promise<unknown>
  close(): Promise<void>
}

/** Namespaces on a bridge; without the rights for them everything is on the loopback address, and nothing is cut off. */
async function openNetwork(): Promise<Network> {
  const onLoopback: Network = {
    host: '127.0.0.1',
    canCut: false,
    addressOf: async () => ({ host: '127.0.0.1', port: await freePort(), api: await freePort() }),
    within: () => [],
    cut: async () => {
      throw new Error('A machine is cut off with network namespaces, for which this must run as root.')
    },
    isolate: async () => false,
    join: async () => undefined,
    close: async () => undefined,
  }
  if (process.getuid?.() !== 0) return onLoopback
  const id = process.pid
  const bridge = `eb${id}`
  const ip = (text: string) => run('ip', text.split(' '))
  const net = `10.213.${id % 250}`
  const spaceOf = (name: string) => `e${id}-${name}`
  const linkOf = (name: string) => `e${id}-${name}`
  const addressOf = (name: string) => `${net}.${NAMES.indexOf(name) + 2}`
  const others = (name: string) => NAMES.filter((it) => it !== name)
  const close = async () => {
    for (const name of NAMES) {
      await ip(`link del ${linkOf(name)}`).catch(() => undefined)
      await ip(`netns del ${spaceOf(name)}`).catch(() => undefined)
    }
    await ip(`link del ${bridge}`).catch(() => undefined)
  }
  try {
    await ip(`link add ${bridge} type bridge`)
    await ip(`addr add ${net}.1/24 dev ${bridge}`)
    await ip(`link set ${bridge} up`)
    for (const name of NAMES) {
      await ip(`netns add ${spaceOf(name)}`)
      await ip(`link add ${linkOf(name)} type veth peer name eth0 netns ${spaceOf(name)}`)
      await ip(`link set ${linkOf(name)} master ${bridge} up`)
      await ip(`-n ${spaceOf(name)} addr add ${addressOf(name)}/24 dev eth0`)
      for (const device of ['eth0', 'lo']) await ip(`-n ${spaceOf(name)} link set ${device} up`)
    }
  } catch (error) {
    console.log(`No networks of their own can be had (${(error as Error).message.trim()}): nothing will be cut off.`)
    await close()
    return onLoopback
  }
  return {
    host: `${net}.1`,
    canCut: true,
    addressOf: async (name) => ({ host: addressOf(name), port: 5432, api: 8008 }),
    within: (name) => ['ip', 'netns', 'exec', spaceOf(name)],
    cut: (name) => ip(`link set ${linkOf(name)} nomaster`),
    async isolate(name) {
      for (const other of others(name)) await ip(`-n ${spaceOf(name)} route add blackhole ${addressOf(other)}`)
      return true
    },
    async join(name) {
      await ip(`link set ${linkOf(name)} master ${bridge}`)
      for (const other of others(name))
        await ip(`-n ${spaceOf(name)} route del blackhole ${addressOf(other)}`).catch(() => undefined)
    },
    close,
  }
}

interface Member {
  readonly name: string
  readonly role: string
  readonly state: string
}

async function startEtcd({ etcd }: Programs, directory: string, host: string) {
  const [client, peer] = [await freePort(), await freePort()]
  const url = (port: number) => `http://${host}:${port}`
  const child = launch(
    [
      ...[etcd, '--name', 'easel', '--data-dir', join(directory, 'etcd')],
      ...['--listen-client-urls', url(client), '--advertise-client-urls', url(client)],
      ...['--listen-peer-urls', url(peer), '--initial-advertise-peer-urls', url(peer)],
      ...['--initial-cluster', `easel=${url(peer)}`],
    ],
    join(directory, 'etcd.log'),
  )
  await until(() => answerOf(`${url(client)}/health`), 'etcd', PATIENCE_MS)
  return {
    address: `${host}:${client}`,
    stop: () => endOf(child),
    remove: (key: string) => post(`${url(client)}/v3/kv/deleterange`, { key: Buffer.from(key).toString('base64') }),
    members: async (node: Node): Promise<{ members?: Member[] }> => (await answerOf(`${node.api}/cluster`)) ?? {},
  }
}

interface Node {
  readonly address: string
  readonly api: string
  /** What Patroni says that its Postgres is; undefined where it says nothing. */
  status(): Promise<string | undefined>
  strike(fault: Fault): Promise<void>
  heal(fault: Fault): Promise<void>
  stop(): Promise<void>
}

async function startNode(
  { patroni, postgres }: Programs,
  directory: string,
  name: string,
  network: Network,
  etcd: string,
  synchronous: boolean,
): Promise<Node> {
  const data = join(directory, 'data')
  const isRoot = process.getuid?.() === 0
  await mkdir(directory, { recursive: true })
  const { host, port, api } = await network.addressOf(name)
  const user = (username: string) => ({ username, password: PASSWORD })
  const settings = {
    scope: 'easel',
    name,
    restapi: { listen: `${host}:${api}`, connect_address: `${host}:${api}` },
    etcd3: { hosts: etcd },
    bootstrap: {
      dcs: {
        ...TIMES,
        synchronous_mode: synchronous,
        postgresql: { use_pg_rewind: true, parameters: { max_connections: 100, wal_log_hints: 'on' } },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
      pg_hba: ['local all all trust', 'host all all all scram-sha-256', 'host replication all all scram-sha-256'],
    },
    postgresql: {
      listen: `${host}:${port}`,
      connect_address: `${host}:${port}`,
      data_dir: data,
      bin_dir: postgres,
      pgpass: join(directory, 'pgpass'),
      authentication: { superuser: user('postgres'), replication: user('replicator') },
      parameters: { unix_socket_directories: directory, shared_buffers: '64MB' },
    },
  }
  const file = join(directory, 'patroni.json')
  await writeFile(file, JSON.stringify(settings, undefined, 2))
  for (const path of [directory, file]) if (isRoot) await chown(path, NOBODY, NOBODY)
  const asNobody = isRoot ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : []
  // A namespace is entered as root; each of these becomes the next one, so that the process is Patroni's.
  const command = [...network.within(name), ...asNobody, patroni, file]
  const begin = () => launch(command, join(directory, 'patroni.log'), { HOME: directory, PATH: process.env.PATH ?? '' })
  let child = begin()

  const postmaster = async () =>
    Number((await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')[0])
  const signal = async (kind: NodeJS.Signals, withPatroni: boolean) => {
    const pid = await postmaster()
    const all = [...(withPatroni && child.pid ? [child.pid] : []), ...(pid ? [pid, ...(await childrenOf(pid))] : [])]
    for (const one of all)
      try {
        process.kill(one, kind)
      } catch {} // it has ended meanwhile
  }
  const url = `http://${host}:${api}`
  return {
    address: `${host}:${port}`,
    api: url,
    async status() {
      const { role, state } = (await answerOf(`${url}/patroni`)) ?? {}
      return state === 'running' ? role : undefined
    },
    async strike(fault) {
      if (fault === 'switchover') await post(`${url}/switchover`, { leader: name })
      else if (fault === 'cut') await network.cut(name)
      else await signal(fault === 'hang' ? 'SIGSTOP' : 'SIGKILL', fault !== 'crash')
    },
    async heal(fault) {
      if (fault === 'hang') await signal('SIGCONT', true)
      else if (fault === 'kill') child = begin()
    },
    async stop() {
      await signal('SIGCONT', true)
      await signal('SIGKILL', true)
      await endOf(child)
    },
  }
}

async function childrenOf(pid: number): Promise<number[]> {
  const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', `${pid}`]).catch(() => ({ stdout: '' }))
  return stdout.split('\n').filter(Boolean).map(Number)
}

function launch([program = '', ...args]: readonly string[], logFile: string, env = process.env): ChildProcess {
  const log = openSync(logFile, 'a')
  const child = spawn(program, args, { stdio: ['ignore', log, log], env, cwd: dirname(logFile) })
  closeSync(log)
  return child
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

async function post(url: string, body: object): Promise<void> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${url} refused: ${await response.text()}`)
}

/** The JSON behind a URL, whatever its status; undefined where nothing answers. */
// biome-ignore lint/suspicious/noExplicitAny: whatever Patroni and etcd say
const answerOf = (url: string): Promise<any> =>
  fetch(url, { signal: AbortSignal.timeout(1000) })
    .then((response) => response.json())
    .catch(() => undefined)
