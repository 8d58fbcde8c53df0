import { sql } from 'drizzle-orm'
import type { PaymentEvents } from '../../core/billing/ports.js'
import type { Database } from '../client.js'
import { PAYMENT_DUE } from '../notifications.js'
import { paymentEvents as e, paymentObjects as o } from '../schema/billing.js'
import { insertInto, statement, typedParams } from '../statement.js'

const EVENT = typedParams(e, 'id', 'type', 'createdAt', 'kind', 'objectId', 'customer', 'body')

const STORE = statement<{ isDue: boolean }>('store_payment_event')`
  WITH stored AS (
    ${insertInto(e, EVENT)} ON CONFLICT (id) DO NOTHING RETURNING ${e.kind}, ${e.objectId}, ${e.customer}
  ), due AS (
    INSERT INTO ${o} (kind, id, customer) SELECT kind, object_id, customer FROM stored WHERE kind IS NOT NULL
    ON CONFLICT (kind, id) DO UPDATE SET
      due_at = least(payment_objects.due_at, now()), customer = coalesce(payment_objects.customer, excluded.customer)
    RETURNING pg_notify(${PAYMENT_DUE}, '')
  )
  SELECT EXISTS (SELECT FROM due) AS "isDue" FROM stored`

export const paymentEventStore = ({ pool }: Database): PaymentEvents => ({
  async store({ about, body, ...event }) {
    const values = { ...event, kind: about?.kind, objectId: about?.id, body: JSON.stringify(body) }
    return (await STORE.count(pool, values)) > 0 ? 'stored' : 'repeated'
  },
})

export const KEPT = sql`interval '30 days'`
