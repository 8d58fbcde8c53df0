/** The flows that a crash may cut off anywhere: what is there before each, and what is done through its ports. */
import { randomBytes } from 'node:crypto'
import type { Caller } from '../../../src/core/accounts/account.js'
import { cancelGeneration } from '../../../src/core/generations/cancel.js'
import { waitForImage } from '../../../src/core/generations/follow/follow.js'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import { BackendError, type InferenceBackend } from '../../../src/core/generations/run/backend.js'
import { runGeneration } from '../../../src/core/generations/run/run.js'
import type { Submission, Submitted } from '../../../src/core/generations/submit/ports.js'
import { submitGeneration } from '../../../src/core/generations/submit/submit.js'
import { type GivenUser, givenUser, MODEL, REQUEST, type UserOptions } from '../../support/givens.js'
import { atOnce, noFaults } from '../../support/gpu-turn.js'
import type { Ports, Stage } from './crash-stage.js'

/** One user and what they ask for; only who serves their own file name can claim it. */
export interface Scene {
  readonly user: GivenUser
  readonly caller: Caller
  readonly submission: Submission
  readonly filename: string
  /** They cannot pay for it. */
  readonly isPoor: boolean
}

export interface Flow {
  /** The last of its effects when nothing goes wrong. */
  readonly reaches: string
  readonly given: (stage: Stage) => Promise<Scene>
  readonly run: (ports: Ports, scene: Scene) => Promise<unknown>
  /** Ports that behave in another way than the stage's. */
  readonly world?: (stage: Stage, scene: Scene) => Partial<Ports>
}

const CREDITS = 10
const COST = 2
const NEVER = new AbortController().signal

export async function givenScene({ db }: Stage, more: UserOptions & Partial<Submission> = {}): Promise<Scene> {
  const { credits = CREDITS, developer, lane = 'personal', idempotency } = more
  const user = await givenUser(db, { credits, ...(developer && { developer }) })
  const subscription = { status: 'active', plan: 'Pro', endDate: new Date(Date.now() + 86_400_000) }
  const filename = `${randomBytes(8).toString('hex')}.safetensors`
  return {
    user,
    filename,
    isPoor: credits < COST,
    caller: {
      account: { id: user.id, username: user.username, credits, subscription, deleted: false },
      keyId: user.keyId,
      keyKind: developer ? 'developer' : 'personal',
      keyModels: null,
      keyMonthlyLimit: null,
      planLimits: null,
      catalogRevision: null,
    },
    submission: {
      lane,
      omitted: [],
      request: { ...REQUEST, width: 64, height: 64, steps: 2, batchSize: COST },
      model: async () => ({ ...MODEL, filename }),
      idempotency,
    },
  }
}

/** A scene whose generation has been submitted and enqueued. */
async function givenSubmitted(stage: Stage, more: UserOptions = {}): Promise<Scene> {
  const scene = await givenScene(stage, more)
  await submit(stage.ports, scene)
  return scene
}

const keyed = () => ({ idempotency: { key: randomBytes(8).toString('hex'), bodyHash: randomBytes(32) } })

export const submit = (ports: Ports, { caller, submission }: Scene): Promise<Submitted> =>
  submitGeneration(ports, caller, submission)

async function createImage(ports: Ports, scene: Scene, timeoutSeconds: number) {
  const submitted = await submit(ports, scene)
  return waitForImage(ports, submitted, { timeoutSeconds, gone: NEVER, leaving: NEVER })
}

/** Claims the scene's generation, if it can be claimed, and runs it. */
export async function run(ports: Ports, { filename }: Scene): Promise<unknown> {
  const serves = { models: [filename], samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }
  const claimed = await ports.runs.claim({ worker: 'mortal', backend: ports.backend.name }, serves)
  return claimed && runGeneration(ports, ports.backend, claimed, NEVER, atOnce(), noFaults)
}

/** Runs a submitted generation on a backend that does something else than to draw. */
const runOn = (reaches: string, generate: (stage: Stage, scene: Scene) => InferenceBackend['generate']): Flow => ({
  reaches,
  given: givenSubmitted,
  run,
  world: (stage, scene) => ({ backend: { ...stage.ports.backend, generate: generate(stage, scene) } }),
})

const fault = (kind: BackendError['kind']) => async () => {
  throw new BackendError(kind, 'a fault', 'The GPU server failed.')
}

const idOf = async ({ db }: Stage, { user }: Scene): Promise<string> =>
  (await db.pool.query('SELECT id FROM generations WHERE user_id = $1', [user.id])).rows[0].id

/** They are charged for nothing, yet a lock of an ended generation is in their way. */
async function givenLeftoverLock(stage: Stage): Promise<Scene> {
  const scene = await givenSubmitted(stage)
  await stage.ports.cancels.cancel(await idOf(stage, scene), 'Canceled.', { onlyQueued: false })
  return scene
}

export const SUBMITS: Readonly<Record<string, Flow>> = {
  'a submit': { reaches: 'queue.enqueue#1', given: (stage) => givenScene(stage), run: submit },
  'a submit past a leftover lock': { reaches: 'queue.enqueue#1', given: givenLeftoverLock, run: submit },
  'a submit of a developer': {
    reaches: 'queue.enqueue#1',
    given: (stage) => givenScene(stage, { developer: { concurrency: 1 } }),
    run: submit,
  },
  'a submit with an idempotency key': {
    reaches: 'queue.enqueue#1',
    given: (stage) => givenScene(stage, keyed()),
    run: submit,
  },
  'a refused submit with an idempotency key': {
    reaches: 'idempotency.release#1',
    given: (stage) => givenScene(stage, { ...keyed(), credits: COST - 1 }),
    run: (ports, scene) => submit(ports, scene).catch(() => undefined),
  },
}

const CREATE_IMAGES: Readonly<Record<string, Flow>> = {
  'a Create Image that is served': {
    reaches: 'queue.enqueue#1',
    given: (stage) => givenScene(stage, { lane: 'create_image' }),
    run: (ports, scene) => createImage(ports, scene, 20),
    world: ({ ports, workOff }, { filename }) => ({
      watch: {
        ...ports.watch,
        watch: (...args) => {
          void workOff(filename)
          return ports.watch.watch(...args)
        },
      },
    }),
  },
  'a Create Image that waits in vain': {
    reaches: 'queue.withdraw#1',
    given: (stage) => givenScene(stage, { lane: 'create_image' }),
    run: (ports, scene) => createImage(ports, scene, 0.01).catch(() => undefined),
  },
}

export const RUNS: Readonly<Record<string, Flow>> = {
  'a run': { reaches: 'queue.withdraw#1', given: givenSubmitted, run },
  'a metered run': {
    reaches: 'queue.withdraw#1',
    given: (stage) => givenSubmitted(stage, { developer: { concurrency: 1 } }),
    run,
  },
  'a run that fails for good': runOn('images.remove#2', () => fault('invalid_request')),
  'a run that costs a try': runOn('runs.requeue#1', () => fault('oom')),
  'a run that finds the server away': runOn('queue.enqueue#1', () => fault('unavailable')),
  'a run that is canceled meanwhile': runOn('images.remove#2', (stage, scene) => async (request, options) => {
    const inferred = await stage.ports.backend.generate(request, options)
    await cancelGeneration(stage.ports, await idOf(stage, scene), 'Canceled.', { onlyQueued: false })
    return inferred
  }),
}

const FLOWS = Object.entries({ ...SUBMITS, ...CREATE_IMAGES, ...RUNS })

/** One flow of each kind. */
const IN_SHORT_TIER = [
  ...['a submit', 'a submit with an idempotency key', 'a Create Image that waits in vain', 'a run'],
  ...['a run that fails for good', 'a run that costs a try', 'a run that is canceled meanwhile'],
]

export const SHORT_TIER_FLOWS = FLOWS.filter(([name]) => IN_SHORT_TIER.includes(name))
export const LONG_TIER_FLOWS = FLOWS.filter(([name]) => !IN_SHORT_TIER.includes(name))
