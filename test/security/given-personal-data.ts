/** An account with a mark of its own in everything that people can write, and in what others write of them. */
import { randomBytes } from 'node:crypto'
import { unsentMailStore } from '../../src/db/accounts/sessions.js'
import { withTransaction } from '../../src/db/client.js'
import { upNextStore } from '../../src/db/up-next/up-next.js'
import { givenOperatorKey } from '../http/admin-api/given-operator-key.js'
import { call, endOf } from '../support/client.js'
import { givenPassword, PASSWORD } from '../support/given-sign-in.js'
import { givenWebhook } from '../support/given-webhook.js'
import type { Mailbox } from '../support/mailbox.js'
import type { Service } from '../support/service.js'
import { until } from '../support/until.js'
import { unzipped } from '../support/unzip.js'
import { visit } from '../support/website-client.js'

export type GivenPerson = Awaited<ReturnType<typeof givenPerson>>

/** Through the website, the API and /admin/v1; what only other companies send is written into the tables. */
export async function givenPerson({ url, db }: Service, mailbox: Mailbox) {
  // Hexadecimal digits may look like an age to the moderation.
  const root = Array.from(randomBytes(12), (byte) => 'jkqvwxz'[byte % 7]).join('')
  const mark = (what: string) => `plant-${what}-${root}`
  const sql = (text: string, ...values: unknown[]) => db.pool.query(text, values)
  const done = <T extends { readonly status: number }>(answer: T): T => {
    if (answer.status >= 400) throw new Error(`${answer.status}: ${JSON.stringify(answer).slice(0, 2000)}`)
    return answer
  }

  const { key: operatorKey } = await givenOperatorKey(db)
  const administer = async (method: string, path: string, body?: object, headers = {}) =>
    done(await call(url, method, `/admin/v1${path}`, { key: operatorKey, ...(body && { body }), headers }))
  const username = mark('name')
  const account = await administer(
    'POST',
    '/accounts',
    { username, credits: 40, plan: mark('plan'), reason: mark('created') },
    { 'idempotency-key': mark('once') },
  )
  const id: string = account.body.id
  await administer('PATCH', `/accounts/${username}`, { email: `${mark('old')}@mail.test`, reason: mark('email') })
  await administer('POST', `/accounts/${username}/credits/grants`, {
    ...{ amount: 10, note: mark('note'), ref: mark('ref'), reason: mark('granted') },
  })

  await givenPassword(db, { id })
  const headers = { 'user-agent': mark('browser') }
  const { cookie } = done(await visit(url, '/sign-in', { body: { username, password: PASSWORD }, headers }))
  const send = async (path: string, body: Readonly<Record<string, string>>) =>
    done(await visit(url, path, { body, cookie }))
  const change = (name: string) => send('/account/email', { email: `${mark(name)}@mail.test`, password: PASSWORD })
  await change('address')
  const confirmation = await until(
    async () => mailbox.received.find(({ to }) => to[0]?.startsWith(mark('address'))),
    'the mail',
  )
  await send('/confirm-email', { token: /confirm-email\?token=(\S+)/.exec(confirmation.text)?.[1] ?? '' })
  await change('pending')
  await send('/account/language', { language: 'de' })
  await send('/account/mails', { 'credits.out': 'on' })
  const { html } = await send('/keys', { name: mark('key') })
  const key = /easel_[0-9A-Za-z]{20,}/.exec(html)?.[0] ?? ''

  const ask = (body: object, more = {}) => call(url, 'POST', '/api/v1/generate', { key, body, headers: more })
  const refused = await ask({ prompt: `${mark('refused')}, nude child`, model_version_id: 10 })
  if (refused.status !== 400) throw new Error('the prompt was not refused')
  const submitted = done(
    await ask(
      {
        ...{ prompt: mark('prompt'), negative_prompt: mark('negative'), model_version_id: 10, batch_size: 2 },
        ...{ width: 256, height: 256 },
      },
      { 'idempotency-key': mark('request') },
    ),
  )
  const generated = await endOf({ url }, { key }, submitted.body.id)
  const called = { prompt: mark('called'), webhook_url: `http://127.0.0.1/${mark('hook')}` }
  const drawn = done(
    await call(url, 'POST', '/v1/images/generate', { key, body: { ...called, width: 256, height: 256, steps: 20 } }),
  )
  const slugs: string[] = generated.output.images.map((it: { id: string }) => it.id)
  const [slug = '', other = ''] = slugs
  const held = [slug, drawn.body.data.image_id as string]
  await administer('DELETE', `/images/${other}`, undefined, { 'x-reason': mark('removed') })
  done(await visit(url, `/image/${slug}/report`, { body: { reason: 'likeness', note: mark('report') } }))

  await send('/gallery/folders', { name: mark('folder') })
  await send('/gallery/selection', { slug, act: 'add', name: mark('sorted'), back: '/gallery' })
  await send(`/image/${slug}/privacy`, { private: 'true' })
  const settings = JSON.stringify({ negative_prompt: mark('settings'), model_version_id: '10', shape: '1024x1024' })
  await send('/playground/settings', { name: mark('saved'), style: mark('style'), settings })
  await upNextStore(db).pause(id)
  const ideaId = await upNextStore(db).add(id, { prompt: mark('idea'), model_version_id: 10 })
  await sql('UPDATE up_next_ideas SET refusal = $2 WHERE id = $1', ideaId, mark('refusal'))
  const webhook = await givenWebhook({ url }, { key } as never, `http://127.0.0.1/${mark('endpoint')}`)
  await sql('UPDATE webhook_endpoints SET description = $2 WHERE id = $1', webhook.id, mark('described'))
  await withTransaction(db, async (_tx, client) => {
    await client.query(
      `INSERT INTO notices (user_id, kind, data) VALUES ($1, 'subscription.changed', jsonb_build_object('plan', $2::text))`,
      [id, mark('notice')],
    )
  })
  await unsentMailStore(db).add({
    ...{ to: `${mark('address')}@mail.test`, subject: mark('subject'), text: mark('mailed') },
  })
  await sql(
    'UPDATE generations SET traceparent = $2, request_id = $3 WHERE id = $1',
    ...[submitted.body.id, mark('trace'), mark('header')],
  )
  await sql(
    'INSERT INTO identities (issuer, subject, email, user_id) VALUES ($1, $2, $3, $4)',
    mark('issuer'),
    mark('subject'),
    mark('named'),
    id,
  )
  await sql('INSERT INTO payment_customers (id, user_id, email) VALUES ($1, $2, $3)', mark('cus'), id, mark('payer'))
  await sql(
    `INSERT INTO payment_events (id, type, created_at, customer, body)
     VALUES ($1, 'charge.succeeded', now(), $2, jsonb_build_object('name', $3::text))`,
    ...[mark('evt'), mark('cus'), mark('told')],
  )
  await sql(
    `INSERT INTO payments (id, customer, user_id, amount, currency, returned, pack, subscription)
     VALUES ($1, $2, $3, 500, 'eur', 0, $4, $5)`,
    ...[mark('pay'), mark('cus'), id, mark('pack'), mark('sub')],
  )
  await sql(
    `INSERT INTO paid_subscriptions (id, customer, price, plan, status, started_at, paid_until, next_price)
     VALUES ($1, $2, $3, $4, 'active', now(), now(), $5)`,
    ...[mark('sub'), mark('cus'), mark('price'), mark('sold'), mark('later')],
  )

  return {
    ...{ id, username, root, cookie, key },
    /** Of the images that are not removed, the first of them private, and of all. */
    ...{ held, slugs: [...held, other] },
    marks: (text: string): string[] => text.match(new RegExp(`plant-[a-z]+-${root}`, 'g')) ?? [],
    async exported() {
      const answer = await fetch(`${url}/account/export`, {
        method: 'POST',
        headers: { cookie: cookie ?? '', 'sec-fetch-site': 'same-origin' },
      })
      if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`)
      return unzipped(Buffer.from(await answer.arrayBuffer()))
    },
    erase: () => send('/account/delete', { username, password: PASSWORD }),
  }
}
