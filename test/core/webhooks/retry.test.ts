import { expect, it, onTestFinished, vi } from 'vitest'
import { webhookDispatcher } from '../../../src/core/webhooks/dispatcher.js'
import type { DeliveryStore } from '../../../src/core/webhooks/ports.js'
import { endpointPause, FAILING, newEndpointId, newEventId, retryDelay } from '../../../src/core/webhooks/webhook.js'
import { webhookDeliveryStore } from '../../../src/db/webhooks/deliveries.js'
import { useDatabase } from '../../support/database.js'
import { timePasses } from '../../support/given-webhook.js'
import { givenUser } from '../../support/givens.js'
import { silentLog } from '../../support/service.js'
import { until } from '../../support/until.js'

const [MINUTE, HOUR] = [60, 3600]
/** What the README promises: seconds after each try that failed. */
const PAUSES = [
  ...[5, 30, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE],
  ...[1 * HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 8 * HOUR, 8 * HOUR],
]

const context = useDatabase()

it('a delivery that always fails is tried after each pause of the schedule, and is then given up; from the fifth failure in a row on its endpoint rests, ever longer', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => void vi.restoreAllMocks())
  const { db } = context
  const { id } = await givenUser(db)
  const endpointId = newEndpointId()
  await db.pool.query(
    `INSERT INTO webhook_endpoints (id, user_id, kind, url, events, secret)
     VALUES ($1, $2, 'account', 'https://x.example/', '{}', 'whsec_eA==')`,
    [endpointId, id],
  )
  await db.pool.query(
    `INSERT INTO webhook_deliveries (endpoint_id, event_id, type, url) VALUES ($1, $2, 'test', 'https://x.example/')`,
    [endpointId, newEventId()],
  )

  const store = webhookDeliveryStore(db)
  const waits: (number | undefined)[] = []
  const rests: number[] = []
  const rung: number[] = []
  const deliveries: DeliveryStore = {
    ...store,
    failed: async (delivery, outcome) => {
      const answer = await store.failed(delivery, outcome)
      waits.push(outcome.retryInSeconds)
      rests.push(outcome.pauseSeconds)
      return answer
    },
  }
  const dispatcher = webhookDispatcher({
    deliveries,
    payloadOf: async () => '{}',
    sender: { send: async () => ({ delivered: false, fault: 'status_not_2xx', status: 500 }) },
    jobs: { enqueue: async (_delivery, delayMs) => rung.push(delayMs) > 0 },
    log: silentLog(),
  })
  onTestFinished(() => dispatcher.stop(0))

  for (const tries of Array.from(PAUSES, (_, i) => i + 1)) {
    await dispatcher.sendDue()
    await until(() => rung.length === tries, `failure ${tries}`)
    expect(await store.claim([]), 'nothing is due before its time').toBeUndefined()
    await timePasses(context)
  }
  await dispatcher.sendDue()
  await until(() => waits.length > PAUSES.length, 'the last failure')
  expect(waits).toEqual([...PAUSES, undefined])
  expect(rests).toEqual([0, 0, 0, 0, 5, 10, 20, 40, 80, 160, 300, 300])
  expect(rung).toEqual(PAUSES.map((seconds) => seconds * 1000))
  const { rows } = await db.pool.query('SELECT status, attempts FROM webhook_deliveries')
  expect(rows).toEqual([{ status: 'failed', attempts: PAUSES.length + 1 }])
})

it('a pause is up to a fifth longer at random, so that what failed together is not tried together', () => {
  expect(PAUSES.map((_, i) => retryDelay(i + 1, 0, 0))).toEqual(PAUSES)
  expect(PAUSES.map((_, i) => retryDelay(i + 1, 0, 1))).toEqual(PAUSES.map((seconds) => seconds * 1.2))
})

it('an endpoint rests as long as it asks for, and never more than five minutes', () => {
  expect(endpointPause(1, 60)).toBe(60)
  expect(endpointPause(1, 86_400)).toBe(300)
  expect(endpointPause(FAILING + 20, 86_400)).toBe(300)
})
