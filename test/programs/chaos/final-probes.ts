import { setTimeout as delay } from 'node:timers/promises'
import { fieldsOf } from './answer-shapes.js'
import type { ChaosClient } from './client.js'
import { type ChaosUser, SIZE } from './load.js'

/** A submit that died between its lock and its charge holds the lock for so long. */
const LOCKED_OUT_MS = 16_000

/** Each user with credits submits once more, and is told what is left. */
export async function finalProbes(
  client: ChaosClient,
  users: readonly ChaosUser[],
  canary: string,
  models: readonly number[],
) {
  const personal = users.filter(({ developer }) => !developer)
  const nextSubmit = new Map<string, number>()
  const submit = async ({ name, key, limit }: ChaosUser, i: number): Promise<number> => {
    const got = await client.send({
      ...{
        user: name,
        asked: { what: 'submit', tag: `last${i}`, batch: 1, limit: limit?.credits },
        method: 'POST' as const,
      },
      ...{ path: '/api/v1/generate', apiKey: key },
      body: {
        prompt: `${canary} plain last${i}`,
        model_version_id: limit?.models[0] ?? models[i % models.length],
        width: SIZE,
        height: SIZE,
        steps: 4,
      },
    })
    return typeof got === 'string' ? 0 : got.status
  }
  await Promise.all(
    personal.map(async (user, i) => {
      const until = Date.now() + LOCKED_OUT_MS
      let status = await submit(user, i)
      while (status === 429 && Date.now() < until) {
        await delay(500)
        status = await submit(user, i)
      }
      // Some have spent all they had, or might; that is no lock.
      nextSubmit.set(user.name, status === 402 ? 201 : status)
    }),
  )
  return {
    nextSubmit,
    /** Asked when everything has ended, so that what failed has been given back. */
    credits: async (byPlans: ReadonlyMap<string, number>) => {
      const held = new Map<string, { granted: number; left: number }>()
      for (const { name, key, granted } of personal) {
        const got = await client.send({
          ...{ user: name, asked: { what: 'account' }, method: 'GET' as const, path: '/api/v1/account', apiKey: key },
        })
        held.set(name, {
          granted: granted + (byPlans.get(name) ?? 0),
          left: typeof got === 'string' ? Number.NaN : Number(fieldsOf(got.body).credits),
        })
      }
      return held
    },
  }
}
