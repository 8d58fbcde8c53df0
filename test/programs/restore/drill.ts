/** What must come back after a restore: a service with a bit of everything, before its backup, after it, and restored. */
import { createHash } from 'node:crypto'
import { chmod, mkdtemp, rm, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { newSlug } from '../../../src/core/generations/generation.js'
import { createDatabase, type Database } from '../../../src/db/client.js'
import { parseConfig } from '../../../src/process/config.js'
import type { RedisClient } from '../../../src/redis/cluster.js'
import { runLine } from '../../cli/easel.js'
import { type A1111StandIn, startA1111StandIn } from '../../stand-ins/a1111/a1111-stand-in.js'
import { call, endOf, PROMPT } from '../../support/client.js'
import { givenFiles } from '../../support/given-images.js'
import { givenSession } from '../../support/given-sign-in.js'
import { givenWebhook, INSIDE } from '../../support/given-webhook.js'
import { chargesOf, type GivenUser, givenKey, givenUser } from '../../support/givens.js'
import { type ServerProcess, startServerProcess } from '../../support/server-process.js'
import { redisUrl } from '../../support/services.js'
import { sharedTemporaryDirectory } from '../../support/temporary.js'
import { emptyRedis, openRedis } from '../../support/test-redis.js'
import { until } from '../../support/until.js'
import { givenReceiver, type Receiver } from '../../support/webhook-receiver.js'
import { visit } from '../../support/website-client.js'
import { startWorkerProcess, type WorkerProcess } from '../../support/worker-process.js'
import { startWatchdog, type Watchdog } from '../chaos/watchdog.js'

const SMALL = { ...PROMPT, width: 256, height: 256 }
/** Has the rights of the service, and none more. */
const APPLICATION = { username: 'easel_app', password: 'secret' }

interface Known {
  readonly alice: GivenUser & { readonly cookie: string }
  readonly spareKey: { readonly key: string; readonly keyId: string }
  readonly bob: GivenUser
  readonly carol: GivenUser
  readonly dan: GivenUser
  readonly receiver: Receiver
  /** Alice's and Dan's have succeeded, Bob's is being drawn, and Carol's waits. */
  readonly generations: {
    readonly kept: string
    readonly censored: string
    readonly bobs: string
    readonly carols: string
  }
}

interface SinceBackup {
  /** Of Alice, charged. */
  readonly lost: string
  /** A file of a generation that the backup does not know. */
  readonly orphan: string
  readonly log: string
  /** What its poll says without its image. */
  readonly censored: object
}

export class Drill {
  readonly directory: string
  /** Ends what a killed test run leaves. */
  readonly watchdog: Watchdog
  readonly #gpu: A1111StandIn
  readonly #redis: RedisClient
  #ownerUrl = ''
  #server: ServerProcess | undefined
  #worker: WorkerProcess | undefined
  #db: Database | undefined

  private constructor(directory: string, gpu: A1111StandIn, redis: RedisClient) {
    this.directory = directory
    this.watchdog = startWatchdog(directory)
    this.#gpu = gpu
    this.#redis = redis
  }

  /** Closed when the test ends. */
  static async open(): Promise<Drill> {
    const directory = await mkdtemp(join(sharedTemporaryDirectory(), 'easel-restore-'))
    await chmod(directory, 0o755) // as root Postgres runs as another user
    const drill = new Drill(directory, await startA1111StandIn(), await openRedis())
    onTestFinished(() => drill.#close())
    return drill
  }

  async #close(): Promise<void> {
    await this.#end()
    this.#redis.disconnect()
    await this.#gpu.close()
    this.watchdog.dismiss()
    await rm(this.directory, { recursive: true, force: true })
  }

  /** Migrates the database, as the owner of its tables, and starts a server and a worker on it. */
  async start(ownerUrl: string): Promise<void> {
    this.#ownerUrl = ownerUrl
    await this.easel('migrate')
    const env = await this.#env()
    this.#db = createDatabase(ownerUrl, { maxConnections: 2, onError: () => undefined })
    ;[this.#server, this.#worker] = await Promise.all([
      startServerProcess(env),
      startWorkerProcess(parseConfig(env), { ...INSIDE, INFERENCE_URL: this.#gpu.inferenceUrl }),
    ])
  }

  /** A command line of the operator's, who owns the tables. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever JSON came out; the tests look at it
  async easel(line: string): Promise<any> {
    const env = await this.#env()
    const owners = { DATABASE_URL: this.#ownerUrl, APP_DATABASE_URL: env.DATABASE_URL, LOG_LEVEL: 'silent' }
    const { code, stdout, stderr } = await runLine(`${line} --json`, { ...env, ...owners })
    if (stdout === '') throw new Error(`${line}: exit ${code}, ${stderr}`)
    return JSON.parse(stdout)
  }

  /** All that the backup will hold. */
  async live(): Promise<Known> {
    const db = this.#db as Database
    const [user, bob, carol, dan] = [await givenUser(db), await givenUser(db), await givenUser(db), await givenUser(db)]
    const alice = { ...user, cookie: await givenSession(db, user) }
    const receiver = await givenReceiver()
    await givenWebhook(this.#service, bob, receiver.url)
    const kept = await this.#submit(alice, { batch_size: 2 })
    await endOf(this.#service, alice, kept)
    const censored = await this.#submit(dan)
    await endOf(this.#service, dan, censored)
    this.#gpu.set({ fault: 'hang' })
    const bobs = await this.#submit(bob)
    await this.#until(bob, bobs, 'processing')
    const carols = await this.#submit(carol)
    const spareKey = await givenKey(db, alice.id)
    return { alice, spareKey, bob, carol, dan, receiver, generations: { kept, censored, bobs, carols } }
  }

  /** What they are answered: polls, balances, lists, pages, and the images themselves. */
  async answers({ alice, spareKey, bob, carol, generations: { kept } }: Known): Promise<object> {
    const lists = ['account', 'credits', 'generations', 'images', 'models', 'webhooks']
    const asked: [string, string][] = [
      ...lists.map((list): [string, string] => [alice.key, `/api/v1/${list}`]),
      ...[bob, carol].flatMap(({ key }) => lists.slice(0, 2).map((list): [string, string] => [key, `/api/v1/${list}`])),
      [bob.key, '/api/v1/webhooks'],
      [spareKey.key, `/api/v1/generate/${kept}`],
    ]
    const answered: unknown[] = []
    for (const [key, path] of asked) {
      const { status, body } = await this.#get(key, path)
      answered.push([path, status, body])
    }
    const gallery = await visit(this.#service.url, '/gallery', { cookie: alice.cookie })
    const { body } = await this.#get(alice.key, `/api/v1/generate/${kept}`)
    const images = body.output.images.map(async ({ url, id }: { url: string; id: string }) => {
      const image = await fetch(this.#service.url + new URL(url).pathname)
      const bytes = Buffer.from(await image.arrayBuffer())
      return [url, image.status, createHash('sha256').update(bytes).digest('hex'), gallery.html.includes(id)]
    })
    return { answered, gallery: gallery.status, images: await Promise.all(images) }
  }

  /** What the backup will not know. */
  async liveOn({ alice, spareKey, dan, generations: { censored } }: Known): Promise<SinceBackup> {
    const { url } = this.#service
    const [image] = (await this.#get(dan.key, `/api/v1/generate/${censored}`)).body.output.images
    expect((await call(url, 'DELETE', `/api/v1/images/${image.id}`, { key: dan.key })).status).toBe(204)
    expect((await visit(url, `/keys/${spareKey.keyId}/revoke`, { body: {}, cookie: alice.cookie })).status).toBe(200)
    const lost = await this.#submit(alice)
    const orphan = newSlug()
    await givenFiles(parseConfig(await this.#env()), [orphan])
    const past = new Date(Date.now() - 660_000)
    for (const extension of ['png', 'webp'])
      await utimes(join(this.directory, `images/${orphan}.${extension}`), past, past)
    const log = await until(() => {
      const written = this.#server?.readLog() ?? ''
      return ['image removed', 'key revoked'].every((line) => written.includes(line)) && written
    }, 'the log of what was taken away')
    return { lost, orphan, log, censored: (await this.#get(dan.key, `/api/v1/generate/${censored}`)).body }
  }

  /** Nothing is left of processes and Redis, without a word of warning. */
  async lose(): Promise<void> {
    await this.#end()
    await emptyRedis(this.#redis)
    this.#gpu.set({ fault: 'none' })
  }

  /** On the restored database: as the manual says it, what came back is taken away again before anybody is served. */
  async expectRestored(ownerUrl: string, known: Known, before: object, since: SinceBackup): Promise<void> {
    const { alice, spareKey, bob, carol, dan, generations, receiver } = known
    this.#ownerUrl = ownerUrl
    expect(await this.easel('migrate')).toMatchObject({ applied: [] })
    const loggedOf = (message: string, fact: string) =>
      since.log.split('\n').flatMap((line) => (line.includes(`"${message}"`) ? [JSON.parse(line)[fact] as string] : []))
    const [removed] = loggedOf('image removed', 'slug')
    const revoked = loggedOf('key revoked', 'keyId')
    expect(revoked).toEqual([spareKey.keyId])
    const found = {
      still_there: { count: 0 },
      file_gone: { examples: [removed] },
      unknown: { examples: [since.orphan] },
    }
    expect(await this.easel('images reconcile --apply')).toMatchObject(found)
    await this.start(ownerUrl)

    // Carol's ends after Bob's, whose webhook is on its way by then.
    for (const [user, id] of [
      [bob, generations.bobs],
      [carol, generations.carols],
    ] as const) {
      expect(await endOf(this.#service, user, id)).toMatchObject({ status: 'succeeded' })
      expect(await chargesOf(this.#db as Database, user)).toEqual([['charge', -1]])
    }
    await until(() => receiver.received.find(({ body }) => body.data?.id === generations.bobs), 'the webhook of Bob')
    expect(await this.answers(known)).toEqual(before)
    expect((await this.#get(dan.key, `/api/v1/generate/${generations.censored}`)).body).toEqual(since.censored)
    expect((await fetch(`${this.#service.url}/cdn/${removed}.png`)).status).toBe(404)
    expect((await fetch(`${this.#service.url}/image/${removed}`)).status).toBe(410)
    expect((await this.#get(alice.key, `/api/v1/generate/${since.lost}`)).status).toBe(404)

    await this.easel(`key revoke ${revoked[0]}`)
    expect((await this.#get(spareKey.key, '/api/v1/account')).status).toBe(401)
    const { checks } = await this.easel('audit --full')
    expect(checks.filter(({ violations }: { violations: number }) => violations > 0)).toEqual([])
  }

  get #service(): ServerProcess {
    if (!this.#server) throw new Error('no server runs')
    return this.#server
  }

  async #env() {
    return {
      ...INSIDE,
      DATABASE_URL: Object.assign(new URL(this.#ownerUrl), APPLICATION).href,
      REDIS_URL: await redisUrl(),
      STORAGE_URL: `file:${this.directory}/images`,
      BASE_URL: 'http://easel.test',
    }
  }

  async #submit({ key }: GivenUser, more: object = {}): Promise<string> {
    const { status, body } = await call(this.#service.url, 'POST', '/api/v1/generate', {
      key,
      body: { ...SMALL, ...more },
    })
    expect(status).toBe(201)
    return body.id
  }

  #get(key: string, path: string) {
    return call(this.#service.url, 'GET', path, { key })
  }

  #until({ key }: GivenUser, id: string, status: string) {
    const look = async () => (await this.#get(key, `/api/v1/generate/${id}`)).body.status === status
    return until(look, `${id} ${status}`)
  }

  async #end(): Promise<void> {
    this.#worker?.kill('SIGKILL')
    await Promise.all([this.#server?.stop(), this.#worker?.ended, this.#db?.pool.end().catch(() => undefined)])
    this.#server = this.#worker = this.#db = undefined
  }
}
