import { afterAll, beforeAll, describe, it } from 'vitest'
import { deathsIn, inTurns, rehearse, startAndDie } from './crash.js'
import { SHORT_TIER_FLOWS } from './crash-flows.js'
import { expectPutRight } from './crash-repair.js'
import { openStage, type Stage } from './crash-stage.js'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage.close())

describe.each(SHORT_TIER_FLOWS)('%s', (_name, flow) => {
  it('can be cut off before and after each of its effects, and what it leaves behind is put right', async () => {
    const effects = await rehearse(stage, flow)
    await expectPutRight(stage, await inTurns(deathsIn(effects), (death) => startAndDie(stage, flow, death)))
  })
})
