import { describe, expect, it } from 'vitest'
import { newEndpointId, newWebhookSecret, WEBHOOK_EVENTS } from '../../src/core/webhooks/webhook.js'
import { webhookDeliveryStore } from '../../src/db/webhooks/deliveries.js'
import { webhookEndpointStore } from '../../src/db/webhooks/endpoints.js'
import { givenGeneration, givenUser } from '../support/givens.js'
import { useEasel } from './easel.js'

const easel = useEasel()
const webhookEndpoints = () => webhookEndpointStore(easel.db, newEndpointId, async () => undefined)

describe('user delete', () => {
  it('ends the webhooks: nothing is told anywhere, not even of what is canceled with it', async () => {
    const { pool } = easel.db
    const user = await givenUser(easel.db)
    const store = webhookEndpoints()
    const endpoint = { id: newEndpointId(), url: 'https://x.example/', description: '', events: WEBHOOK_EVENTS }
    await store.create(user.id, { ...endpoint, secret: newWebhookSecret() }, 10)
    await store.admitOrigin(user.id, 'https://x.example', newWebhookSecret(), 50)
    const { id } = await givenGeneration(easel.db, user)
    expect(await easel.json(`user delete ${user.username}`)).toMatchObject({ canceled_jobs: [id] })
    const { rows } = await pool.query(
      `SELECT (SELECT count(*) FROM webhook_endpoints WHERE user_id = $1 AND deleted_at IS NULL) AS live,
              (SELECT count(*) FROM webhook_secrets WHERE user_id = $1) AS secrets,
              (SELECT count(*) FROM webhook_deliveries WHERE generation_id = $2) AS deliveries`,
      [user.id, id],
    )
    expect(rows[0]).toEqual({ live: 0, secrets: 0, deliveries: 0 })
    expect(await store.create(user.id, { ...endpoint, id: newEndpointId(), secret: 'x' }, 10)).toBeUndefined()
    await easel.json(`user delete ${user.username} --purge`)
    const urls = await pool.query('SELECT url FROM webhook_endpoints WHERE user_id = $1', [user.id])
    expect(urls.rows.filter(({ url }) => url.includes('x.example'))).toEqual([])
    expect(urls.rows).toHaveLength(2)
  })

  it('with --purge forgets the addresses of all deliveries, at most a thousand in a statement', async () => {
    const { pool } = easel.db
    const user = await givenUser(easel.db)
    await webhookEndpoints().admitOrigin(user.id, 'https://x.example', newWebhookSecret(), 50)
    await pool.query(
      `INSERT INTO webhook_deliveries (endpoint_id, event_id, type, url)
       SELECT id, 'evt_' || n, 'test', 'https://x.example/?token=1' FROM webhook_endpoints, generate_series(1, 2001) n
        WHERE user_id = $1`,
      [user.id],
    )
    await pool.query(`
      CREATE FUNCTION refuse_many() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF (SELECT count(*) FROM changed) > 1000 THEN RAISE 'too much for one statement'; END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER in_pages AFTER UPDATE ON webhook_deliveries REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_many()`)
    await easel.json(`user delete ${user.username} --purge`)
    const { rows } = await pool.query(`SELECT DISTINCT url FROM webhook_deliveries`)
    expect(rows).toEqual([{ url: '' }])
  })
})

describe('user rotate-webhook-secret', () => {
  it('signs with a new secret at once, and for a day with the old one beside it', async () => {
    const { pool } = easel.db
    const { id, username } = await givenUser(easel.db)
    const [old, origin] = [newWebhookSecret(), 'https://y.example']
    await webhookEndpoints().admitOrigin(id, origin, old, 50)
    const rotated = await easel.json(`user rotate-webhook-secret ${username.toUpperCase()}`)
    expect(rotated).toEqual({
      username,
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{32}$/),
      old_secret_until: expect.any(String),
    })
    const hours = (Date.parse(rotated.old_secret_until) - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(23.9)
    expect(hours).toBeLessThanOrEqual(24.1)
    expect(await webhookEndpoints().admitOrigin(id, origin, newWebhookSecret(), 50)).toBe(rotated.secret)

    const signedWith = async () => {
      await pool.query(
        `INSERT INTO webhook_deliveries (endpoint_id, event_id, type, url)
         SELECT id, 'evt_' || gen_random_uuid(), 'test', url FROM webhook_endpoints WHERE user_id = $1`,
        [id],
      )
      return (await webhookDeliveryStore(easel.db).claim([]))?.secrets
    }
    expect(await signedWith()).toEqual([rotated.secret, old])
    await pool.query('UPDATE webhook_secrets SET old_secret_until = now() WHERE user_id = $1', [id])
    expect(await signedWith()).toEqual([rotated.secret])
  })

  it('says what to do with the new secret', async () => {
    const { id, username } = await givenUser(easel.db)
    await webhookEndpoints().admitOrigin(id, 'https://y.example', newWebhookSecret(), 50)
    expect(await easel.text(`user rotate-webhook-secret ${username}`)).toMatch(
      /^secret {11}whsec_\S+\nold signs until {2}[\d-]+T[\d:]+Z\nPut it in place of the old one at every receiver of webhook_url: /,
    )
  })

  it('refuses a user who has no secret', async () => {
    const { username } = await givenUser(easel.db)
    expect(await easel.error(`user rotate-webhook-secret ${username}`)).toBe(
      `User "${username}" has no webhook secret yet: the first request with a webhook_url makes it.`,
    )
    await easel.json(`user delete ${username}`)
    expect(await easel.error(`user rotate-webhook-secret ${username}`)).toBe(`User "${username}" was deleted.`)
  })
})
