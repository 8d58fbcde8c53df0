import { expect, it } from 'vitest'
import { newEndpointId } from '../../../src/core/webhooks/webhook.js'
import { useAudited } from './audited.js'

const audited = useAudited()
const { breaking, violated } = audited

/** An endpoint to which something should have been sent six minutes ago. */
async function givenOverdue(state: string) {
  const id = newEndpointId()
  await breaking(
    `INSERT INTO webhook_endpoints (id, user_id, kind, url, events, secret)
     VALUES ($1, $2, 'account', 'https://x.example/', '{}', 'whsec_eA==')`,
    [id, audited.user.id],
  )
  await breaking(
    `INSERT INTO webhook_deliveries (endpoint_id, event_id, type, generation_id, url, next_at)
     VALUES ($1, 'evt_late', 'generation.succeeded', $2, 'https://x.example/', now() - interval '6 minutes')`,
    [id, audited.succeeded.id],
  )
  await breaking(`UPDATE webhook_endpoints SET ${state} WHERE id = $1`, [id])
}

it('an audit finds a webhook that is overdue, unless its endpoint is paused, busy, deleted or disabled', async () => {
  await givenOverdue('failures = 5')
  await givenOverdue('not_before = now()')
  await givenOverdue(`slot_2_until = now() + interval '1 minute'`)
  await givenOverdue('deleted_at = now()')
  await givenOverdue(`disabled_at = now(), disabled_reason = 'x'`)
  expect(await violated()).toEqual({})
  await givenOverdue('failures = 4')
  const between = async (afterMs: number) => expect(afterMs).toBe(4000)
  expect(await violated({}, { between })).toEqual({ 'webhooks-are-sent-in-time': 1 })
})
