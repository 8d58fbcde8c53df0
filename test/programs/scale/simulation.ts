/** Very many GPU servers that only wait, with real servers and workers over one Postgres and one Redis. */
import { setTimeout as delay } from 'node:timers/promises'
import { givenAccounts, givenKeys, givenWaiting, MODELS, openFiller, waitingId } from '../bench/fill.js'
import { type BenchStack, cpuOf, type Started, startBenchStack } from '../bench/stack.js'
import { type Followings, startFollowers } from './followers.js'
import { type Gpus, startGpus } from './gpus.js'
import { type StatementUse, watchPostgres } from './postgres-watch.js'

export interface SimulationOptions {
  readonly backends: number
  readonly secondsPerImage: number
  /** Generations in the queue at first. */
  readonly waiting: number
  /** Event streams that are open all the time. */
  readonly followers: number
  /** How long is measured. */
  readonly seconds: number
  /** How many backends a worker process has. */
  readonly backendsPerWorker: number
  /** The folder of the build. */
  readonly built: string
}

export interface Measured {
  /** The share of the time in which a backend had a request for an image. */
  readonly busy: number
  readonly claimsPerSecond: number
  readonly endsPerSecond: number
  /** For an image, in milliseconds. */
  readonly cpu: Readonly<Record<'servers' | 'workers' | 'postgres' | 'redis', number>>
  readonly commitsPerSecond: number
  readonly walBytesPerImage: number
  readonly noticesPerSecond: number
  /** In seconds: how long ago the lease of a running generation was renewed, at most. */
  readonly oldestHeartbeat: number
  readonly leasesLost: number
  readonly putBacks: Readonly<Record<string, number>>
  /** Connections to Postgres of all processes at most: for statements, and for notices. */
  readonly connections: number
  readonly listeners: number
  /** What connections at work waited for, as shares of all that was seen of them. */
  readonly waits: readonly (readonly [what: string, share: number])[]
  readonly statements: readonly StatementUse[]
  readonly followings: Followings | undefined
}

/** A server takes 5000 connections. */
const FOLLOWERS_PER_SERVER = 4000
/** The images are as small as may be: what is measured is everything but the drawing. */
const SIZE = [64, 64] as const
/** What a worker that is gone, or could not reach Postgres, leaves behind. */
const LOST = ['worker_lost', 'lease_in_doubt']

export async function simulate(options: SimulationOptions): Promise<Measured> {
  const { backends, secondsPerImage, followers, seconds, backendsPerWorker, built } = options
  const scripts = { server: `${built}/server.js`, worker: `${built}/worker.js` }
  const stack = await startBenchStack({}, scripts, {
    max_connections: '2500',
    shared_preload_libraries: 'pg_stat_statements',
  })
  const closers: (() => unknown)[] = [stack.close]
  try {
    const followed = await fill(stack, options)
    const servers = [stack.server]
    while (servers.length * FOLLOWERS_PER_SERVER < followers) servers.push(await stack.launch([scripts.server]))
    const gpus = await startGpus({ models: MODELS, secondsPerImage })
    closers.push(gpus.stop)
    const urls = servers.map(({ url }) => url)
    const following = followers > 0 ? await startFollowers({ urls, followed, open: followers }) : undefined
    closers.push(() => following?.stop())
    const workers: Started[] = []
    for (let from = 0; from < backends; from += backendsPerWorker)
      workers.push(await startWorker(stack, scripts.worker, gpus, from, Math.min(backends, from + backendsPerWorker)))
    const watch = await watchPostgres(stack.databaseUrl)
    closers.push(watch.close)
    // So that every backend has drawn, and its pace is known.
    await delay(2 * secondsPerImage * 1000 + 5000)

    const cpu = cpuOfAll(stack, servers, workers)
    const counting = await watch.begin()
    const [cpuBefore, workBefore] = [await cpu(), await gpus.work()]
    await delay(seconds * 1000)
    const [cpuAfter, work] = [await cpu(), await gpus.work()]
    const counted = await counting.end()
    const putBacks = await watch.putBacks()
    const perImage = (name: keyof typeof cpuAfter) =>
      ((cpuAfter[name] - cpuBefore[name]) * 1000) / (work.drawn - workBefore.drawn)
    const seen = [...counted.waits.values()].reduce((sum, n) => sum + n, 0)
    return {
      busy: (work.busyMs - workBefore.busyMs) / ((work.at - workBefore.at) * backends),
      claimsPerSecond: counted.begun / counted.seconds,
      endsPerSecond: counted.ended / counted.seconds,
      cpu: {
        servers: perImage('servers'),
        workers: perImage('workers'),
        postgres: perImage('postgres'),
        redis: perImage('redis'),
      },
      commitsPerSecond: counted.commits / counted.seconds,
      walBytesPerImage: counted.walBytes / counted.ended,
      noticesPerSecond: counted.notices / counted.seconds,
      oldestHeartbeat: counted.oldestHeartbeat,
      leasesLost: LOST.reduce((sum, reason) => sum + (putBacks[reason] ?? 0), 0),
      putBacks,
      connections: counted.connections,
      listeners: counted.listeners,
      waits: [...counted.waits]
        .map(([what, n]) => [what, n / seen] as const)
        .toSorted(([, one], [, other]) => other - one),
      statements: counted.statements,
      followings: await following?.count(),
    }
  } finally {
    for (const close of closers.reverse()) await close()
  }
}

/** The queue, each generation another account's. Resolves to those that may be followed, with the keys of their accounts. */
async function fill(stack: BenchStack, { waiting, followers, backends, secondsPerImage, seconds }: SimulationOptions) {
  const filler = await openFiller(stack.databaseUrl)
  await givenAccounts(filler, waiting)
  await givenWaiting(filler, waiting, 0, SIZE)
  // Who follows one that ends goes on with another one.
  const ends = followers && Math.ceil((backends / secondsPerImage) * (seconds + 60))
  const keys = await givenKeys(filler, [...Array(Math.min(waiting, followers + ends)).keys()])
  await filler.query('ANALYZE')
  await filler.end()
  return keys.map((key, n) => ({ id: waitingId(n), key }))
}

const startWorker = (stack: BenchStack, script: string, gpus: Gpus, from: number, to: number): Promise<Started> =>
  stack.launch([script], {
    INFERENCE_URL: Array.from({ length: to - from }, (_, n) => gpus.urlOf(from + n)).join(','),
  })

const cpuOfAll = (stack: BenchStack, servers: readonly Started[], workers: readonly Started[]) => async () => {
  const all = async (of: readonly Started[]) =>
    (await Promise.all(of.map(({ pid }) => cpuOf(pid)))).reduce((sum, one) => sum + one, 0)
  return {
    servers: await all(servers),
    workers: await all(workers),
    postgres: await stack.postgresCpu(),
    redis: await stack.redisCpu(),
  }
}
