/** Users of a run: each does one thing after the other through the public APIs, as programs out there do. */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Seeded } from '../../support/seeded.js'
import { fieldsOf } from './answer-shapes.js'
import type { Call, ChaosClient } from './client.js'
import type { Answered, Lost } from './history.js'
import { PROBES } from './probes.js'
import { WORKFLOW_SCALE } from './workflow.js'

export interface ChaosUser {
  readonly name: string
  readonly key: string
  readonly developer: boolean
  readonly granted: number
  /** Of its API key; none unless given. */
  readonly limit?: KeyLimit | undefined
}

export interface KeyLimit {
  /** In a month. */
  readonly credits: number
  /** Model versions that it may use. */
  readonly models: readonly number[]
}

/** The share of submits that name any model, whatever the key may use. */
const ANY_MODEL = 0.2

export interface LoadOptions {
  readonly client: ChaosClient
  readonly users: readonly ChaosUser[]
  readonly chance: Seeded
  /** A word in every prompt that must turn up nowhere else. */
  readonly canary: string
  /** Catalog ids that the GPUs have. */
  readonly models: readonly number[]
  /** The share of submits that come twice at once, as two different ones. */
  readonly doubles: number
  /** A catalog id that no GPU has, where there is time for a generation to miss its deadline. */
  readonly missingModel: number | undefined
  /** Now and then a generation that is slow, kills its worker whenever it runs, or never gets an image; false ends that. */
  readonly hopeless: () => boolean
}

export interface Load {
  /** No new generations; resolves when every user has followed the last one to its end. */
  stop(): Promise<void>
}

export const SIZE = 256
/** What a user waits between two generations, on average. */
const THINK_MS = 250
/** Polls: quick at first, since a healthy generation takes a moment, then rarer, as what hangs takes long. */
const POLL_MS = { first: 120, factor: 1.5, longest: 2000 }
/** A generation that is not over by then is left to the checks at the end. */
const FOLLOW_MS = 240_000

type Got = Answered | Lost
const isAnswer = (got: Got): got is Answered => typeof got !== 'string'

export function startLoad({
  client,
  users,
  chance,
  canary,
  models,
  doubles,
  missingModel,
  hopeless,
}: LoadOptions): Load {
  let stopping = false
  let made = 0

  const prompt = (kind: string) => {
    const tag = `t${++made}`
    return { tag, prompt: `${canary} ${kind} ${tag} a lighthouse at dusk` }
  }

  async function live(user: ChaosUser, chance: Seeded): Promise<void> {
    await delay(chance.between(0, 1000))
    while (!stopping) {
      await (user.developer || chance.chance(0.12) ? create(user, chance) : submit(user, chance))
      await delay(chance.gap(THINK_MS))
      if (chance.chance(0.15)) await probe(user, chance)
    }
  }

  const kindOf = (chance: Seeded) => {
    const r = chance.next()
    return !hopeless() || r > 0.03 ? 'plain' : r > 0.015 ? 'slow' : r > 0.003 ? 'broken' : 'poison'
  }

  const modelFor = ({ limit }: ChaosUser, chance: Seeded) =>
    missingModel !== undefined && hopeless() && chance.chance(0.003)
      ? missingModel
      : chance.pick(limit && !chance.chance(ANY_MODEL) ? limit.models : models)
  const askedByKey = ({ limit }: ChaosUser, model: number) =>
    limit && { limit: limit.credits, isForbidden: !limit.models.includes(model) }

  async function submit(user: ChaosUser, chance: Seeded): Promise<void> {
    const { tag, prompt: text } = prompt(kindOf(chance))
    const batch = chance.chance(0.15) ? 2 : 1
    const key = chance.chance(0.5) ? randomUUID() : undefined
    const model = modelFor(user, chance)
    const call: Call = {
      user: user.name,
      asked: { what: 'submit', tag, batch, ...(key !== undefined && { key }), ...askedByKey(user, model) },
      method: 'POST',
      path: '/api/v1/generate',
      apiKey: user.key,
      headers: key === undefined ? {} : { 'idempotency-key': key },
      body: {
        prompt: text,
        model_version_id: model,
        ...{ width: SIZE, height: SIZE, steps: 4, batch_size: batch },
      },
    }
    const hangUp = chance.chance(0.04) ? { hangUpAfterMs: chance.between(0, 40) } : {}
    const twin = chance.chance(doubles) ? second(user, chance) : undefined
    let got = await client.send({ ...call, ...hangUp })
    await twin
    // With a key the outcome can be asked for; without one, whatever is active will be named by the next refusal.
    for (let tries = 0; key !== undefined && isUnknown(got) && tries < 200; tries++) {
      await delay(chance.between(50, 400))
      got = await client.send(call)
    }
    if (!isAnswer(got)) return
    if (got.status === 201) {
      if (key !== undefined && chance.chance(0.1)) await client.send(call)
      await follow(user, String(fieldsOf(got.body).id), chance)
    } else if (got.status === 429) {
      const named = /\((gen_\w+)\)/.exec(String(fieldsOf(got.body).error))?.[1]
      if (named) await follow(user, named, chance)
      else await delay(500)
    } else await delay(300)
  }

  /** Polls to the end, now and then cancels or tries a second generation meanwhile, and fetches what was drawn. */
  async function follow(user: ChaosUser, id: string, chance: Seeded): Promise<void> {
    const until = Date.now() + FOLLOW_MS
    const poll: Call = {
      user: user.name,
      asked: { what: 'poll', id },
      method: 'GET',
      path: `/api/v1/generate/${id}`,
      apiKey: user.key,
    }
    const cancel: Call = { ...poll, asked: { what: 'cancel', id }, method: 'POST', path: `${poll.path}/cancel` }
    const way = chance.next()
    const [streams, waits] = [way < 0.2, way < 0.4]
    const events: Call = { ...poll, asked: { what: 'events', id }, path: `${poll.path}/events` }
    const longPoll: Call = { ...poll, path: `${poll.path}?wait=10` }
    for (let pause = POLL_MS.first; Date.now() < until; pause = Math.min(pause * POLL_MS.factor, POLL_MS.longest)) {
      const next = chance.chance(0.02) ? cancel : streams ? events : waits ? longPoll : poll
      const hangUp = next === events && chance.chance(0.1) ? { hangUpAfterMs: chance.between(0, 1000) } : {}
      const got = await client.send({ ...next, ...hangUp })
      const { status, output } = isAnswer(got) ? fieldsOf(got.events ? got.events.at(-1)?.data : got.body) : {}
      if (isAnswer(got) && got.status === 404) return
      if (status === 'failed') return
      if (status === 'succeeded') {
        for (const image of fieldsOf(output).images as { url: string }[]) await fetchImage(user, image.url)
        if (chance.chance(0.1)) await client.send(poll)
        return
      }
      if (chance.chance(0.03)) await second(user, chance)
      await delay(chance.between(0.7, 1.3) * pause)
    }
  }

  /** A submit while another generation is, most likely, still active. */
  async function second(user: ChaosUser, chance: Seeded): Promise<void> {
    const { tag, prompt: text } = prompt('second')
    const got = await client.send({
      user: user.name,
      asked: { what: 'submit', tag, batch: 1, ...askedByKey(user, models[0] as number) },
      method: 'POST',
      path: '/api/v1/generate',
      apiKey: user.key,
      body: { prompt: text, model_version_id: models[0], width: SIZE, height: SIZE, steps: 4 },
    })
    if (isAnswer(got) && got.status === 201) await follow(user, String(fieldsOf(got.body).id), chance)
  }

  async function create(user: ChaosUser, chance: Seeded): Promise<void> {
    const { tag, prompt: text } = prompt('plain')
    const key = chance.chance(0.5) ? randomUUID() : undefined
    const call: Call = {
      user: user.name,
      asked: {
        what: 'create',
        tag,
        metered: user.developer,
        ...(key !== undefined && { key }),
        limit: user.limit?.credits,
      },
      method: 'POST',
      path: '/v1/images/generate',
      apiKey: user.key,
      headers: key === undefined ? {} : { 'idempotency-key': key },
      body: { prompt: text, width: SIZE, height: SIZE, steps: 20 },
    }
    const hangUp = chance.chance(0.08) ? { hangUpAfterMs: chance.between(0, 150) } : {}
    let got = await client.send({ ...call, ...hangUp })
    for (let tries = 0; key !== undefined && isUnknown(got) && tries < 200; tries++) {
      await delay(chance.between(50, 400))
      got = await client.send(call)
    }
    if (isAnswer(got) && got.status === 200) {
      await fetchImage(user, String(fieldsOf(fieldsOf(got.body).data).url))
    }
  }

  async function fetchImage(user: ChaosUser, url: string): Promise<void> {
    const call: Call = {
      user: user.name,
      asked: { what: 'image', url, sizes: [SIZE, SIZE * WORKFLOW_SCALE] },
      method: 'GET',
      path: new URL(url).pathname,
    }
    // A server that dies amid the image owes nothing; the next one has it.
    for (let tries = 0; tries < 100; tries++) {
      const got = await client.send(call)
      if (isAnswer(got) && got.status === 200) return
      await delay(200)
    }
  }

  async function probe(user: ChaosUser, chance: Seeded): Promise<void> {
    if (!user.developer && chance.chance(0.3)) {
      await client.send({
        ...{ user: user.name, asked: { what: 'account' }, method: 'GET', path: '/api/v1/account', apiKey: user.key },
      })
      return
    }
    const {
      name,
      status,
      createImage = false,
      apiKey,
      ...call
    } = chance.pick(user.developer ? DEVELOPER_PROBES : PROBES)
    await client.send({
      ...call,
      user: user.name,
      asked: { what: 'probe', name, status, createImage },
      apiKey: apiKey ?? user.key,
    })
  }

  const lives = users.map((user) => live(user, chance.fork(user.name)))
  return {
    stop: async () => {
      stopping = true
      await Promise.all(lives)
    },
  }
}

const DEVELOPER_PROBES = PROBES.filter(({ createImage }) => createImage)

/** The generation may have been stored, or the request may be repeated: 5xx, 409 and no answer at all. */
const isUnknown = (got: Got): boolean =>
  !isAnswer(got) || got.status === 503 || got.status === 409 || (got.status === 500 && !isFailure(got))

const isFailure = ({ body }: Answered): boolean => fieldsOf(fieldsOf(body).error).code === 'generation_failed'
