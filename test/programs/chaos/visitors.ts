/** People on the website, as their browsers: they sign in, make keys, use and revoke them, generate, line ideas up, keep images in order and sign out. */
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Seeded } from '../../support/seeded.js'
import { ARRIVE_MS, type Browser, openBrowser, type Visitor } from './browser.js'
import type { ChaosClient } from './client.js'
import type { FinalGeneration, Violation } from './history.js'
import { SIZE } from './load.js'
import { imageKeeper, type KnownImages } from './own-images.js'

interface VisitOptions {
  readonly client: ChaosClient
  readonly visitors: readonly Visitor[]
  readonly chance: Seeded
  /** A word in every prompt that must turn up nowhere else. */
  readonly canary: string
  /** A catalog id that the GPUs have. */
  readonly model: number
}

const THINK_MS = 400
const LOOK_MS = 300
/** A generation that is not over by then is left to the checks at the end. */
const FOLLOW_MS = 120_000

const KEY = /easel_[0-9A-Za-z]{38}/
const REVOKE = /action="(\/keys\/[0-9a-f-]{36}\/revoke)"/g

/** What was added to Up next, by the tags of their prompts. */
export interface LinedUp {
  readonly tag: string
  /** False: it may have been added or not. */
  readonly isKnown: boolean
}

/** @returns what ends the visits and resolves when every visitor has left; what they have lined up, and their images, until then */
export function startVisits({ client, visitors, chance, canary, model }: VisitOptions) {
  let stopping = false
  const linedUp: LinedUp[] = []
  const images: KnownImages = new Map()
  let made = 0

  const visit = async (visitor: Visitor, chance: Seeded): Promise<void> => {
    const browser = openBrowser(client, visitor)
    const keepImages = imageKeeper(browser, chance, images)
    await delay(chance.between(0, ARRIVE_MS))
    while (!stopping) {
      if (!(await browser.signIn())) {
        await delay(500)
        continue
      }
      while (!stopping && browser.isSignedIn()) {
        await delay(chance.gap(THINK_MS))
        const what = chance.next()
        if (what < 0.2) await useKey(browser)
        else if (what < 0.6) await keepImages()
        else if (what < 0.98) await generate(browser, visitor, chance.below(3))
        else await browser.signOut()
      }
    }
    // Whatever is active must have ended when the run looks at what is left.
    await follow(browser, Date.now() + FOLLOW_MS)
  }

  /** A key works until it is revoked, and not for one more request. */
  async function useKey(browser: Browser): Promise<void> {
    const page = await browser.get('keys', '/keys')
    for (const [, path] of page?.text.matchAll(REVOKE) ?? [])
      await browser.post('revoke an old key', path as string, {}, [200, 404])
    const made = await browser.post('create a key', '/keys', { name: browser.mark }, [200, 201])
    const [key] = KEY.exec(made?.page?.text ?? '') ?? []
    const [, path] = [...((await browser.get('keys', '/keys'))?.text.matchAll(REVOKE) ?? [])][0] ?? []
    if (!key || !path) return
    await browser.callWith(key, 200, 'a new key')
    if ((await browser.post('revoke a key', path, {}, [200]))?.status === 200)
      await browser.callWith(key, 401, 'a revoked key')
  }

  /** Of its form. */
  const drawing = (tag: string) => ({
    ...{ prompt: `${canary} plain ${tag} a lighthouse`, model_version_id: String(model), batch_size: '1' },
    ...{ shape: `${SIZE}x${SIZE}`, steps: '4' },
  })

  /** @param ideas to be drawn after it */
  async function generate(browser: Browser, { mark }: Visitor, ideas: number): Promise<void> {
    await browser.post('generate', '/playground', drawing(`${mark}n${++made}`), [303, 402, 429])
    for (let n = 0; n < ideas; n++) {
      const tag = `${mark}n${++made}`
      // 400: there are as many as there may be.
      const answered = await browser.post('line up', '/playground', { ...drawing(tag), to: 'up-next' }, [303, 400])
      if (answered?.status !== 400) linedUp.push({ tag, isKnown: answered?.status === 303 })
    }
    await follow(browser, Date.now() + FOLLOW_MS)
  }

  async function follow(browser: Browser, until: number): Promise<void> {
    while (Date.now() < until && browser.isSignedIn()) {
      const page = await browser.get('playground', '/playground')
      if (page && !/\/playground\/gen_\w+\/cancel|The first one begins/.test(page.text)) return
      await delay(LOOK_MS)
    }
  }

  const visits = visitors.map((visitor) => visit(visitor, chance.fork(visitor.name)))
  return {
    linedUp,
    images,
    async stop(): Promise<void> {
      stopping = true
      await Promise.all(visits)
    },
  }
}

/** Each idea was drawn once, or waits still; none was lost, and none is both. */
export async function upNextViolations(
  postgres: Pick<pg.ClientBase, 'query'>,
  linedUp: readonly LinedUp[],
  generations: Iterable<FinalGeneration & { readonly tag: string }>,
): Promise<Violation[]> {
  const { rows } = await postgres.query(`SELECT split_part(body->>'prompt', ' ', 3) AS tag FROM up_next_ideas`)
  const counts = new Map<string, number>()
  for (const { tag } of [...rows, ...generations]) counts.set(tag, (counts.get(tag) ?? 0) + 1)
  return linedUp.flatMap(({ tag, isKnown }) => {
    const times = counts.get(tag) ?? 0
    if (times === 1 || (times === 0 && !isKnown)) return []
    return [{ invariant: 'up next', what: `the idea ${tag} is there ${times} times` }]
  })
}
