import { describe, expect, it } from 'vitest'
import { SAMPLERS } from '../../src/core/generations/generation.js'
import { backendRegistry } from '../../src/db/generations/backends.js'
import { operatorActionStore } from '../../src/db/operator/operator-actions.js'
import { givenGeneration, givenUser, MODEL } from '../support/givens.js'
import { standInWorker } from '../support/stand-in-worker.js'
import { useEasel } from './easel.js'

const easel = useEasel()
const ACTOR = easel.actor

const newestActs = async (count: number) => {
  const { items } = await operatorActionStore(easel.db).list({ limit: count, after: undefined })
  return items.map(({ actor, action, target, reason }) => [actor, action, target, reason])
}

describe('easel queue', () => {
  it('shows what waits, runs and has failed, the backends and the pauses', async () => {
    const serves = { models: [MODEL.filename], samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }
    const condition = { loaded: MODEL.filename, error: 'it was away' }
    await backendRegistry(easel.db).announce('gpu-host', 'a1111+http://gpu', true, serves, condition)
    const worker = standInWorker(easel.db)
    const user = await givenUser(easel.db)
    await givenGeneration(easel.db, user)
    await worker.fail(await worker.claim(), 'The GPU ran out of memory.')
    const running = await givenGeneration(easel.db, user)
    await worker.claim()
    for (const lane of ['personal', 'personal', 'create_image'] as const)
      await givenGeneration(easel.db, await givenUser(easel.db), { lane })
    await easel.json(['pause', '--backend', 'a1111+http://gpu', '--reason', 'new GPU'])

    const seen = await easel.json('queue')
    expect(seen).toMatchObject({ waiting: 3, running: 1, images_last_hour: 0, failed_last_hour: 1 })
    expect(seen.queue).toMatchObject([
      { lane: 'create_image', filename: MODEL.filename, count: 1, first_place: 1, last_place: 1 },
      { lane: 'personal', filename: MODEL.filename, count: 2, first_place: 2, last_place: 3 },
    ])
    expect(seen.running_generations).toMatchObject([{ id: running.id, username: user.username, worker: 'stand-in' }])
    expect(seen.backends).toMatchObject([
      { name: 'a1111+http://gpu', worker: 'gpu-host', up: true, loaded: MODEL.filename, error: 'it was away' },
    ])
    expect(seen.failures).toEqual([{ reason: 'The GPU ran out of memory.', count: 1 }])
    expect(seen.pauses).toMatchObject([{ scope: 'backend', target: 'a1111+http://gpu', reason: 'new GPU' }])
    expect(await easel.text('queue')).toMatch(/ \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}it was away$/m)
    await easel.json(['resume', '--backend', 'a1111+http://gpu'])
  })
})

describe('pause and resume', () => {
  it('take everything, a model or a backend, need a reason, and are recorded', async () => {
    expect(await easel.json(['pause', '--reason', 'moving house'])).toEqual({ scope: 'all', target: '', paused: true })
    expect(await easel.error(['pause', '--reason', 'again'])).toContain('is paused already')
    expect(await easel.json('resume')).toEqual({ scope: 'all', target: '', paused: false })
    expect(await easel.error('resume')).toContain('nothing to resume')
    expect(await easel.error('pause')).toContain('--reason')
    expect(await easel.error('pause --model no.such --reason x')).toContain('No model version has the file')
    expect(await easel.error('pause --backend nobody --reason x')).toContain('No worker reports a backend')
    expect(await easel.error('pause --model a --backend b --reason x')).toContain('not both')
    expect(await newestActs(2)).toEqual([
      [ACTOR, 'resumed everything', '', ''],
      [ACTOR, 'paused everything', '', 'moving house'],
    ])
  })
})

describe('every command that changes something', () => {
  it('records who did it and why', async () => {
    await easel.json(['user', 'create', 'alice', '--credits', '5', '--reason', 'asked'])
    await easel.json(['credits', 'grant', 'alice', '10', '--reason', 'sorry'])
    await easel.json('subscription set alice --plan Pro --until 2030-01-31')
    await easel.json('subscription set alice --none')
    const { id: keyId } = await easel.json('key create alice')
    await easel.json(['key', 'revoke', keyId, '--reason', 'leaked'])
    await easel.json(['models', 'price', '10', '3', '--reason', 'dearer'])
    await easel.json('models disable 10')
    await easel.json('user delete alice --reason gone')
    expect((await newestActs(9)).reverse()).toEqual([
      [ACTOR, 'created user', 'alice', 'asked'],
      [ACTOR, 'granted 10 credits', 'alice', 'sorry'],
      [ACTOR, 'set the subscription: Pro, active, until 2030-01-31', 'alice', ''],
      [ACTOR, 'took the subscription away', 'alice', ''],
      [ACTOR, `created personal key ${keyId}`, 'alice', ''],
      [ACTOR, `revoked key ${keyId}`, 'alice', 'leaked'],
      [ACTOR, 'set the price to 3 of model version', '10', 'dearer'],
      [ACTOR, 'disabled model version', '10', ''],
      [ACTOR, 'deleted user', 'alice', 'gone'],
    ])
  })

  it('records nothing that was not done', async () => {
    const before = await newestActs(1)
    await easel.error('models price 987 1')
    await easel.error('key revoke x')
    await easel.error('jobs cancel gen_x')
    await easel.error('user create alice@@ --reason x --credits -1')
    expect(await newestActs(1)).toEqual(before)
  })
})
