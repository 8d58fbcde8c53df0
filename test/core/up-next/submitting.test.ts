import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AppError } from '../../../src/core/errors.js'
import type { SubmitPorts } from '../../../src/core/generations/submit/ports.js'
import { upNextLoop } from '../../../src/core/up-next/submitting.js'
import { MAX_IDEAS } from '../../../src/core/up-next/up-next.js'
import { operatorUserStore } from '../../../src/db/accounts/accounts.js'
import { upNextQueue } from '../../../src/db/up-next/queue.js'
import { upNextStore } from '../../../src/db/up-next/up-next.js'
import { useDatabase } from '../../support/database.js'
import { chargesOf, creditsOf, type GivenUser, givenGeneration, MODEL } from '../../support/givens.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { until } from '../../support/until.js'
import { drawnBy, givenIdea, givenPerson, idea, upNextPorts } from './given-up-next.js'

const context = useDatabase()
const store = () => upNextStore(context.db)
const worker = () => standInWorker(context.db)
const promptsOf = async (user: GivenUser) => (await store().of(user.id)).ideas.map(({ body }) => body.prompt)
const drawn = async (user: GivenUser) => (await drawnBy(context.db, user)).map(({ prompt }) => prompt)

const servers: ReturnType<typeof upNextLoop>[] = []
function server(more: Partial<SubmitPorts> = {}) {
  const loop = upNextLoop(upNextPorts(context.db, more))
  servers.push(loop)
  return loop
}
/** Has one more server look once. */
async function look(more: Partial<SubmitPorts> = {}): Promise<void> {
  const loop = server(more)
  await loop.submitDue()
  await loop.stop()
}

beforeEach(async () => {
  await context.db.pool.query('DELETE FROM up_next')
  await context.db.pool.query(
    `UPDATE generations SET status = 'failed', error = 'x', finished_at = now() WHERE status IN ('queued', 'processing')`,
  )
})
afterEach(async () => {
  await Promise.all(servers.splice(0).map((loop) => loop.stop()))
})

const flagging = (word: string): Partial<SubmitPorts> => ({
  moderator: {
    review: async ({ prompt }) =>
      prompt.includes(word)
        ? { flagged: true, parameter: 'prompt', category: 'gore', matched: [word] }
        : { flagged: false },
  },
})

describe('what is up next', () => {
  it('is drawn in order, each after the end of the one before, and charged only then', async () => {
    const user = await givenPerson(context.db)
    for (const prompt of ['one', 'two', 'three']) await givenIdea(context.db, user, idea(prompt))
    expect(await creditsOf(context.db, user)).toBe(100)
    server().start()
    for (const [n, prompt] of ['one', 'two', 'three'].entries()) {
      const claimed = await worker().claim()
      expect(claimed.prompt).toBe(prompt)
      expect(await chargesOf(context.db, user)).toHaveLength(n + 1)
      expect(await promptsOf(user)).toEqual(['two', 'three'].slice(n))
      await worker().succeed(claimed)
    }
    expect(await promptsOf(user)).toEqual([])
  })

  it('goes on after a failure and after a cancellation, without waiting for a poll', async () => {
    const user = await givenPerson(context.db)
    const first = await givenGeneration(context.db, user)
    await givenIdea(context.db, user, idea('one'))
    await look()
    expect(await drawn(user)).toEqual([first.prompt])
    await worker().fail(await worker().claim(), 'It broke.')
    await look()
    expect(await drawn(user)).toEqual([first.prompt, 'one'])
  })

  it('is not looked at again while one is active, until that ends', async () => {
    const user = await givenPerson(context.db)
    await givenGeneration(context.db, user)
    await givenIdea(context.db, user, idea('one'))
    await look()
    expect(await upNextQueue(context.db).claim(1)).toBeUndefined()
    await worker().succeed(await worker().claim())
    expect(await upNextQueue(context.db).claim(1)).toMatchObject({ accountId: user.id, idea: { body: idea('one') } })
  })

  it('is seen by a look that began before the end of what was active', async () => {
    const user = await givenPerson(context.db)
    await givenGeneration(context.db, user)
    await givenIdea(context.db, user, idea('one'))
    const queue = upNextQueue(context.db)
    const claimed = await queue.claim(30)
    await worker().succeed(await worker().claim())
    // Its server still believes that one is active.
    if (claimed) await queue.later(claimed, 300)
    await look()
    expect(await drawn(user)).toContain('one')
  })

  it('is submitted once by many servers that look at once', async () => {
    const users = await Promise.all(Array.from({ length: 10 }, () => givenPerson(context.db)))
    for (const user of users) for (const prompt of ['one', 'two']) await givenIdea(context.db, user, idea(prompt))
    const four = Array.from({ length: 4 }, () => server())
    for (let n = 0; n < 20; n++) {
      await Promise.all(four.map((loop) => loop.submitDue()))
      // As if every claim had ended already.
      await context.db.pool.query('UPDATE up_next SET due_at = now() WHERE due_at IS NOT NULL')
    }
    await Promise.all(four.map((loop) => loop.stop()))
    for (const user of users) {
      expect(await drawn(user)).toEqual(['one'])
      expect(await promptsOf(user)).toEqual(['two'])
      expect(await chargesOf(context.db, user)).toEqual([['charge', -1]])
    }
  })

  it('is neither drawn nor charged once it was removed or changed, even if a server has it in hand', async () => {
    const user = await givenPerson(context.db)
    await givenIdea(context.db, user, idea('removed'))
    let atReview: (() => Promise<unknown>) | undefined
    const moderator: SubmitPorts['moderator'] = {
      review: async () => {
        await atReview?.()
        atReview = undefined
        return { flagged: false }
      },
    }
    atReview = async () => store().remove(user.id, (await store().of(user.id)).ideas[0]?.id ?? '')
    await look({ moderator })
    expect(await drawn(user)).toEqual([])
    await givenIdea(context.db, user, idea('as it was'))
    atReview = async () => store().replace(user.id, (await store().of(user.id)).ideas[0]?.id ?? '', idea('as it is'))
    await look({ moderator })
    await look()
    expect(await drawn(user)).toEqual(['as it is'])
    expect(await chargesOf(context.db, user)).toEqual([['charge', -1]])
  })

  it('is neither drawn nor charged once its person has paused Up next, even while moderation looks at it', async () => {
    const user = await givenPerson(context.db)
    await givenIdea(context.db, user, idea('one'))
    const pause = async () => {
      await store().pause(user.id)
      return { flagged: false } as const
    }
    await look({ moderator: { review: pause } })
    expect(await drawn(user)).toEqual([])
    expect(await chargesOf(context.db, user)).toEqual([])
    expect(await store().of(user.id)).toMatchObject({ paused: 'by_person', ideas: [{ refusal: null }] })
    await store().goOn(user.id)
    await look()
    expect(await drawn(user)).toEqual(['one'])
  })

  it('is drawn if its person has paused Up next and let it go on again meanwhile', async () => {
    const user = await givenPerson(context.db)
    await givenIdea(context.db, user, idea('one'))
    const pauseAndGoOn = async () => {
      await store().pause(user.id)
      await store().goOn(user.id)
      return { flagged: false } as const
    }
    await look({ moderator: { review: pauseAndGoOn } })
    expect(await drawn(user)).toEqual(['one'])
  })

  it('is charged what it costs when it is submitted, not when it was lined up', async () => {
    const user = await givenPerson(context.db)
    await givenIdea(context.db, user, idea('dear', { batch_size: 4 }))
    await context.db.pool.query('UPDATE model_versions SET credits_per_image = 3 WHERE id = $1', [MODEL.id])
    try {
      await look()
    } finally {
      await context.db.pool.query('UPDATE model_versions SET credits_per_image = 1 WHERE id = $1', [MODEL.id])
    }
    expect(await chargesOf(context.db, user)).toEqual([['charge', -12]])
  })
})

describe('an idea that is refused', () => {
  it.each([
    ['for want of credits', { credits: 0 }, {}, 'Insufficient credits'],
    ['by moderation', {}, flagging('blood'), 'Prompt flagged by moderation'],
    ['without a subscription', { subscription: null }, {}, 'No active subscription'],
    ['with an account that is suspended', { subscription: { status: 'suspended' } }, {}, 'No active subscription'],
  ] as const)('%s stays first, with the sentence, and pauses the list', async (_, options, ports, sentence) => {
    const user = await givenPerson(context.db, options)
    await givenIdea(context.db, user, idea('blood'))
    await givenIdea(context.db, user, idea('two'))
    await look(ports)
    await look(ports)
    const { ideas, paused } = await store().of(user.id)
    expect(paused).toBe('by_refusal')
    expect(ideas.map(({ body, refusal }) => [body.prompt, refusal])).toEqual([
      ['blood', expect.stringContaining(sentence)],
      ['two', null],
    ])
    expect(await drawn(user)).toEqual([])
  })

  it('is tried again when the person says so, and the next one is drawn once it is removed', async () => {
    const user = await givenPerson(context.db)
    const ports = flagging('blood')
    await givenIdea(context.db, user, idea('blood'))
    await givenIdea(context.db, user, idea('two'))
    await look(ports)
    await store().goOn(user.id)
    expect(await store().of(user.id)).toMatchObject({ paused: null, ideas: [{ refusal: null }, {}] })
    await look(ports)
    const { ideas, paused } = await store().of(user.id)
    expect(paused).toBe('by_refusal')
    await store().remove(user.id, ideas[0]?.id ?? '')
    await store().goOn(user.id)
    await look(ports)
    expect(await drawn(user)).toEqual(['two'])
  })

  it('because its model is gone says so', async () => {
    const user = await givenPerson(context.db)
    await store().add(user.id, idea('one', { model_version_id: 987_654 }))
    await look()
    expect((await store().of(user.id)).ideas[0]?.refusal).toBe(
      'Its model is not on offer any more. Edit it to choose another one, or remove it.',
    )
  })

  it('leaves no pause behind when the list has become empty', async () => {
    const user = await givenPerson(context.db)
    await givenIdea(context.db, user, idea('blood'))
    await look(flagging('blood'))
    await store().clear(user.id)
    await givenIdea(context.db, user, idea('two'))
    await look(flagging('blood'))
    expect(await drawn(user)).toEqual(['two'])
  })

  it('for what passes by itself is not paused and is tried later', async () => {
    const user = await givenPerson(context.db)
    await givenIdea(context.db, user, idea('one'))
    const away = { review: () => Promise.reject(new AppError('unavailable', 'x', { retryAfterSeconds: 5 })) }
    await look({ moderator: away })
    expect(await store().of(user.id)).toMatchObject({ paused: null, ideas: [{ refusal: null }] })
    await context.db.pool.query('UPDATE up_next SET due_at = now()')
    await look()
    expect(await drawn(user)).toEqual(['one'])
  })
})

describe('the list', () => {
  it('refuses at once what its model does not take, and a model that is not on offer', async () => {
    const user = await givenPerson(context.db)
    await expect(givenIdea(context.db, user, idea('one', { model_version_id: 987_654 }))).rejects.toThrow('not found')
    await expect(givenIdea(context.db, user, idea('one', { width: 2048, height: 2048 }))).rejects.toThrow()
    expect(await promptsOf(user)).toEqual([])
  })

  it('submits nothing while it is paused, and what waits goes on when the person says so', async () => {
    const user = await givenPerson(context.db)
    await givenIdea(context.db, user, idea('one'))
    await store().pause(user.id)
    await givenIdea(context.db, user, idea('two'))
    await look()
    expect(await drawn(user)).toEqual([])
    await store().goOn(user.id)
    await look()
    expect(await drawn(user)).toEqual(['one'])
  })

  it('is put into another order', async () => {
    const user = await givenPerson(context.db)
    for (const prompt of ['one', 'two', 'three']) await givenIdea(context.db, user, idea(prompt))
    const idOf = async (prompt: string) =>
      (await store().of(user.id)).ideas.find(({ body }) => body.prompt === prompt)?.id ?? ''
    await store().move(user.id, await idOf('three'), 'up')
    expect(await promptsOf(user)).toEqual(['one', 'three', 'two'])
    await store().move(user.id, await idOf('one'), 'down')
    expect(await promptsOf(user)).toEqual(['three', 'one', 'two'])
    await store().move(user.id, await idOf('three'), 'up')
    await store().move(user.id, await idOf('two'), 'down')
    expect(await promptsOf(user)).toEqual(['three', 'one', 'two'])
  })

  it(`holds up to ${MAX_IDEAS} ideas, also of many requests at once`, async () => {
    const user = await givenPerson(context.db)
    const added = await Promise.allSettled(
      Array.from({ length: MAX_IDEAS + 5 }, (_, n) => givenIdea(context.db, user, idea(`${n}`))),
    )
    expect(added.filter(({ status }) => status === 'rejected')).toHaveLength(5)
    expect(await promptsOf(user)).toHaveLength(MAX_IDEAS)
    await expect(givenIdea(context.db, user, idea('more'))).rejects.toThrow(
      'Up next holds 50 ideas, the most there may be: remove one first.',
    )
  })

  it('is nobody else’s', async () => {
    const [user, stranger] = [await givenPerson(context.db), await givenPerson(context.db)]
    await givenIdea(context.db, user, idea('one'))
    await givenIdea(context.db, stranger, idea('mine'))
    const id = (await store().of(user.id)).ideas[0]?.id ?? ''
    expect(await store().find(stranger.id, id)).toBeUndefined()
    expect(await store().remove(stranger.id, id)).toBe(false)
    await expect(givenIdea(context.db, stranger, idea('two'), id)).rejects.toThrow('not in Up next any more')
    await store().move(stranger.id, id, 'down')
    await store().clear(stranger.id)
    expect(await promptsOf(user)).toEqual(['one'])
  })

  it('goes with its account', async () => {
    const user = await givenPerson(context.db)
    await givenIdea(context.db, user, idea('one'))
    await operatorUserStore(context.db).delete(user.id)
    expect(await promptsOf(user)).toEqual([])
    // AskedIdea up by a page that was open meanwhile.
    await store().add(user.id, idea('two'))
    await look()
    await until(async () => (await promptsOf(user)).length === 0, 'the idea of the deleted account to be forgotten')
    expect(await drawn(user)).toEqual([])
  })
})
