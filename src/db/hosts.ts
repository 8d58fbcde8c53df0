/** Which host of a Postgres URL a connection leads to. A URL may name several, of which one takes writes at a time. */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { reasonOf } from '../lib/causes.js'

type HostState = Readonly<Record<'standby' | 'readOnly', boolean>>
type Requirement = readonly [fits: (state: HostState) => boolean, words: string]

const ANY: Requirement = [() => true, 'answers']
const STANDBY: Requirement = [({ standby }) => standby, 'is a standby']
/** As libpq understands `target_session_attrs`; the first requirement that any host meets. */
const REQUIREMENTS: Readonly<Record<string, readonly Requirement[]>> = {
  any: [ANY],
  'read-write': [[({ standby, readOnly }) => !standby && !readOnly, 'takes writes']],
  'read-only': [[({ standby, readOnly }) => standby || readOnly, 'is read-only']],
  primary: [[({ standby }) => !standby, 'is the primary']],
  standby: [STANDBY],
  'prefer-standby': [STANDBY, ANY],
}

/** ms: of asking a host, and how long the last good one has before the others are asked, too. */
const ASK_MS = 2000
const HEAD_START_MS = 250

const URL_PARTS = /^(?<start>postgres(?:ql)?:\/\/(?:[^/?#]*@)?)(?<hosts>[^/?#@]*)(?<end>.*)$/s
const TARGET = /(?<=[?&])target_session_attrs=([^&#]*)&?/

/** Of the file in the directory of a socket, as some programs want it named. */
const SOCKET_FILE = /\/\.s\.PGSQL\.(\d{1,5})$/
const PORT = /:(\d*)$/

/**
 * Writes a URL whose host stands elsewhere so that all of its readers understand it alike: the directory of a Unix socket,
 * in `?host=` or with percent signs in the place of the host, and any other host in `?host=`. WHATWG's URL takes no user
 * without a host, and no socket with colons in its name. As in libpq, a socket has no TLS.
 */
export function withHostInPlace(url: string): string {
  const { start = '', hosts = '', end = '' } = URL_PARTS.exec(url)?.groups ?? {}
  if (!start || hosts.includes(',')) return url
  const [path = '', query] = end.split(/\?(.*)/s)
  const parameters = new URLSearchParams(query)
  const given = parameters.get('host') ?? ''
  const inPlace = decoded(hosts)
  const socket = [given, inPlace.replace(PORT, '')].find((it) => it.startsWith('/'))
  if (!socket && (!given || given.includes(',') || hosts.replace(PORT, ''))) return url
  const port = SOCKET_FILE.exec(socket ?? '')?.[1] || parameters.get('port') || PORT.exec(inPlace)?.[1]
  for (const name of ['host', 'port']) parameters.delete(name)
  if (socket) {
    for (const name of [...parameters.keys()]) if (name.startsWith('ssl')) parameters.delete(name)
    parameters.set('host', socket.replace(SOCKET_FILE, '') || '/')
    parameters.set('sslmode', 'disable')
  }
  const host = socket ? 'localhost' : given.includes(':') ? `[${given}]` : given
  return `${start}${host}${port ? `:${port}` : ''}${path}${parameters.size > 0 ? `?${parameters}` : ''}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The URL of each host that a URL names, and which of them is wanted. */
export function hostsIn(url: string): { readonly urls: readonly [string, ...string[]]; readonly target: string } {
  const target = TARGET.exec(url)?.[1] ?? 'any'
  const {
    start = '',
    hosts = '',
    end = '',
  } = URL_PARTS.exec(url.replace(TARGET, '').replace(/[?&]$/, ''))?.groups ?? {}
  if (!start) return { urls: [url], target }
  const [first = '', ...others] = hosts.split(',').map((host) => `${start}${host}${end}`)
  return { urls: [first, ...others], target }
}

/** What is wrong with the hosts of a URL, as the rest of a sentence that begins with its variable. */
export function hostsProblem(url: string): string | undefined {
  const { urls, target } = hostsIn(url)
  if (!(target in REQUIREMENTS))
    return `has the unknown target_session_attrs "${target}"; use ${Object.keys(REQUIREMENTS).join(', ')}`
  const isUsable = (it: string) => URL.canParse(it) && new URL(it).hostname !== ''
  if (urls.length > 1 && !urls.every(isUsable))
    return 'must name its hosts as postgres://user:password@HOST:PORT,HOST:PORT/database'
  return /[?&]host=[^&#]*(,|%2c)/i.test(url)
    ? 'must name its hosts before the database, as postgres://user:password@HOST:PORT,HOST:PORT/database'
    : undefined
}

/** Whether a URL leads to hosts that may be standbys, of which connections must not land on one by chance. */
export const maySettleOnStandby = (url: string): boolean => {
  const { urls, target } = hostsIn(url)
  return urls.length > 1
    ? !['read-write', 'primary'].includes(target)
    : !['any', 'read-write', 'primary'].includes(target)
}

type ClientClass = new (options?: pg.ClientConfig) => pg.Client

/**
 * The hosts of one URL, shared by all connections of this process to it, so that what one learns helps the others.
 * As libpq does, a connection is kept only if its host fits `target_session_attrs`. Unlike libpq, which asks one host
 * after the other, the last good one is asked first and then all at once: one that is cut off holds nobody up. When
 * another host takes over, the connections to the one before end at once, for they may hang or be read-only.
 */
export class Hosts {
  readonly urls: readonly [string, ...string[]]
  readonly #requirements: readonly Requirement[]
  /** The URL of the host that connections lead to; undefined while it is unknown. */
  #current: string | undefined
  #last: string | undefined
  #finding: Promise<string> | undefined
  readonly #open = new Map<pg.Client, string>()

  constructor(urls: readonly [string, ...string[]], target: string) {
    this.urls = urls
    this.#requirements = REQUIREMENTS[target] ?? [ANY]
  }

  /** @throws Error with SQLSTATE 08001 that says what is wrong with each host */
  find(): Promise<string> {
    if (this.#current) return Promise.resolve(this.#current)
    this.#finding ??= this.#ask().finally(() => {
      this.#finding = undefined
    })
    return this.#finding
  }

  /** Has the hosts asked again, because a connection failed or refused writes. */
  recheck = (): void => {
    this.#current = undefined
    this.find().catch(() => undefined)
  }

  /** Notes a connection until it ends. @throws Error when its host has come to be another than it was */
  async admit(client: pg.Client, url: string): Promise<void> {
    const state = await stateOn(client)
    if (!this.#requirements.some(([fits]) => fits(state))) throw unfitting(`${nameOf(url)} ${wordsFor(state)}`)
    if (this.#last !== url) throw unfitting(`${nameOf(url)} was replaced`)
    this.#open.set(client, url)
    client.once('end', () => this.#open.delete(client))
    client.on('error', this.recheck)
  }

  async #ask(): Promise<string> {
    const last = this.#last
    const first = last && this.#requirements[0]
    const answers = new Map<string, Promise<HostState>>()
    const answerOf = (url: string) => {
      const answer = answers.get(url) ?? stateOf(url)
      answer.catch(() => undefined)
      answers.set(url, answer)
      return answer
    }
    const found =
      (first &&
        (await Promise.race([fitting(answerOf(last), last, first), delay(HEAD_START_MS)]).catch(() => undefined))) ||
      (await this.#firstOf(answerOf))
    if (found !== last) for (const [client, url] of this.#open) if (url !== found) cut(client)
    this.#current = this.#last = found
    return found
  }

  async #firstOf(answerOf: (url: string) => Promise<HostState>): Promise<string> {
    let failure: AggregateError | undefined
    for (const requirement of this.#requirements)
      try {
        return await Promise.any(this.urls.map((url) => fitting(answerOf(url), url, requirement)))
      } catch (error) {
        failure = error as AggregateError
      }
    const errors: Error[] = failure?.errors ?? []
    const [, words] = this.#requirements.at(-1) ?? ANY
    // A password that one refuses can be mended, and is what to tell.
    const cause = errors.find((error) => error instanceof pg.DatabaseError) ?? errors[0]
    throw unfitting(`no host ${words} (${errors.map(reasonOf).join('; ')})`, cause)
  }
}

const unfitting = (message: string, cause?: Error) => Object.assign(new Error(message, { cause }), { code: '08001' })

async function fitting(answer: Promise<HostState>, url: string, [fits]: Requirement): Promise<string> {
  const state = await answer
  if (!fits(state)) throw new Error(`${nameOf(url)} ${wordsFor(state)}`)
  return url
}

const wordsFor = ({ standby, readOnly }: HostState) =>
  standby ? 'is a standby' : readOnly ? 'is read-only' : 'is a primary'

const nameOf = (url: string) => new URL(url).host

async function stateOf(connectionString: string): Promise<HostState> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: ASK_MS, application_name: 'easel host' })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const state = await stateOn(client)
    client.end().catch(() => undefined)
    return state
  } catch (error) {
    // A host that hangs never says goodbye.
    cut(client)
    throw error
  }
}

async function stateOn(client: pg.Client): Promise<HostState> {
  const text = `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only')::boolean AS "readOnly"`
  const { rows } = await client.query<HostState>(Object.assign({ text }, { query_timeout: ASK_MS }))
  return rows[0] as HostState
}

/** Ends a connection without a word to its host; what runs on it fails. */
const cut = (client: pg.Client): void => void client.connection.stream.destroy()

const known = new Map<string, Hosts>()

/** The hosts of a URL; undefined for a single one of whatever kind, to which pg itself connects. */
export function hostsOf(url: string): Hosts | undefined {
  const { urls, target } = hostsIn(url)
  if (urls.length === 1 && target === 'any') return undefined
  const hosts = known.get(url) ?? new Hosts(urls, target)
  known.set(url, hosts)
  return hosts
}

/** What pg needs to connect to the right host of a URL: one of its hosts, and a client that finds the right one. */
export function serverOf(url: string): { readonly url: string; readonly Client: ClientClass } {
  const hosts = hostsOf(url)
  return hosts ? { url: hosts.urls[0], Client: clientOf(hosts) } : { url: hostsIn(url).urls[0], Client: pg.Client }
}

/** A client of pg that connects to the right host of a URL. */
export function postgresClient(url: string, options: Omit<pg.ClientConfig, 'connectionString'> = {}): pg.Client {
  const server = serverOf(url)
  return new server.Client({ ...options, connectionString: server.url })
}

const clientOf = (hosts: Hosts): ClientClass =>
  class extends pg.Client {
    #ended = false

    override connect(): Promise<pg.Client>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      const connected = this.#connect()
      if (!callback) return connected
      const done = callback as (error?: Error) => void
      // Later: what the callback throws is not ours.
      connected.then(
        () => process.nextTick(done),
        (error) => process.nextTick(done, error),
      )
      return undefined
    }

    async #connect(): Promise<pg.Client> {
      const url = await hosts.find()
      if (this.#ended) throw new Error('Connection terminated')
      // pg reads them when it connects; TLS checks the certificate for this host.
      const { host, port } = new pg.Client({ connectionString: url })
      Object.assign(this, { host, port })
      try {
        await super.connect()
        await hosts.admit(this, url)
      } catch (error) {
        hosts.recheck()
        cut(this)
        throw error
      }
      return this
    }

    override end(): Promise<void>
    override end(callback: (error: Error) => void): void
    override end(callback?: (error: Error) => void): Promise<void> | undefined {
      this.#ended = true
      return callback ? void super.end(callback) : super.end()
    }
  }
