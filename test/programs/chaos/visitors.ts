/** People on the website, as their browsers: they sign in, make keys, use and revoke them, generate, follow and sign out. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Seeded } from '../../support/seeded.js'
import { ARRIVE_MS, type Browser, openBrowser, type Visitor } from './browser.js'
import type { ChaosClient } from './client.js'
import { SIZE } from './load.js'

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

/** @returns ends the visits; resolves when every visitor has left */
export function startVisits({ client, visitors, chance, canary, model }: VisitOptions): () => Promise<void> {
  let stopping = false
  let made = 0

  const visit = async (visitor: Visitor, chance: Seeded): Promise<void> => {
    const browser = openBrowser(client, visitor)
    await delay(chance.between(0, ARRIVE_MS))
    while (!stopping) {
      if (!(await browser.signIn())) {
        await delay(500)
        continue
      }
      while (!stopping && browser.isSignedIn()) {
        await delay(chance.gap(THINK_MS))
        const what = chance.next()
        if (what < 0.3) await useKey(browser)
        else if (what < 0.98) await generate(browser, visitor)
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

  async function generate(browser: Browser, { mark }: Visitor): Promise<void> {
    const form = {
      prompt: `${canary} plain ${mark}n${++made} a lighthouse`,
      model_version_id: String(model),
      batch_size: '1',
    }
    await browser.post('generate', '/playground', { ...form, shape: `${SIZE}x${SIZE}`, steps: '4' }, [303, 402, 429])
    await follow(browser, Date.now() + FOLLOW_MS)
  }

  async function follow(browser: Browser, until: number): Promise<void> {
    while (Date.now() < until && browser.isSignedIn()) {
      const page = await browser.get('playground', '/playground')
      if (page && !/\/playground\/gen_\w+\/cancel/.test(page.text)) return
      await delay(LOOK_MS)
    }
  }

  const visits = visitors.map((visitor) => visit(visitor, chance.fork(visitor.name)))
  return async () => {
    stopping = true
    await Promise.all(visits)
  }
}
