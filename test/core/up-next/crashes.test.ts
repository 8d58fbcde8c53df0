/** Whatever dies while an idea is submitted: it is drawn and charged once, and never lost. */
import { describe, expect, it } from 'vitest'
import { upNextLoop } from '../../../src/core/up-next/submitting.js'
import { upNextStore } from '../../../src/db/up-next/up-next.js'
import { useDatabase } from '../../support/database.js'
import { chargesOf } from '../../support/givens.js'
import { until } from '../../support/until.js'
import { type Death, mortal, type Way } from '../generations/mortal.js'
import { drawnBy, givenIdea, givenPerson, idea, upNextPorts } from './given-up-next.js'

const context = useDatabase()

/** Submits two ideas, with one death at most while the first one is. Resolves to what had happened until then. */
async function run(death?: Death): Promise<readonly string[]> {
  const { db } = context
  const store = upNextStore(db)
  const user = await givenPerson(db)
  await givenIdea(db, user, idea('one'))
  await givenIdea(db, user, idea('two'))
  const { submissionOf, log, ...ports } = upNextPorts(db)
  const { generationDeadlineSeconds, refusedPrompts, ...submits } = ports.submits
  const dying = mortal({ ...ports, submits }, death)
  const first = upNextLoop({
    ...dying.ports,
    submits: { ...dying.ports.submits, generationDeadlineSeconds, refusedPrompts },
    ...{ submissionOf, log },
  })
  void first.submitDue()
  const prompts = async () => (await drawnBy(db, user)).map(({ prompt }) => prompt)
  await until(async () => dying.isDead || (await prompts()).length === 1, 'the death, or the submit')
  await dying.settled()
  const left = async () => (await store.of(user.id)).ideas.map(({ body }) => body.prompt)
  expect([...(await prompts()), ...(await left())]).toEqual(['one', 'two'])
  // The claim has ended.
  await db.pool.query('UPDATE up_next SET due_at = now() WHERE due_at IS NOT NULL')
  const second = upNextLoop(upNextPorts(db))
  await until(async () => second.submitDue().then(async () => (await prompts()).length === 1), 'another server')
  await second.stop()
  // It was only asleep.
  dying.wake()
  await first.stop()
  expect(await prompts()).toEqual(['one'])
  expect(await left()).toEqual(['two'])
  expect(await chargesOf(db, user)).toEqual([['charge', -1]])
  await db.pool.query('DELETE FROM up_next')
  return dying.effects
}

describe('an idea of Up next', () => {
  it('is drawn once, whichever step a server dies at, and when it was only asleep', async () => {
    const effects = await run()
    expect(effects.length).toBeGreaterThanOrEqual(8)
    const ways: readonly Way[] = ['before', 'after']
    for (const effect of new Set(effects)) for (const way of ways) await run({ effect, way })
  })
})
