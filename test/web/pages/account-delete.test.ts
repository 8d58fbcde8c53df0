import { describe, expect, it } from 'vitest'
import { operatorUserStore } from '../../../src/db/accounts/accounts.js'
import { accountPurges } from '../../../src/db/accounts/purges.js'
import { unsentMailStore } from '../../../src/db/accounts/sessions.js'
import { wholeImageStore } from '../../../src/process/image-files.js'
import { call } from '../../support/client.js'
import { givenOperator, givenPassword, givenSession, PASSWORD } from '../../support/given-sign-in.js'
import { givenGeneration, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { visit } from '../../support/website-client.js'

const context = useService({ worker: true, env: { INFERENCE_URL: 'preview:', SITE_LANGUAGES: 'en,de' } })

async function given({ password = true } = {}) {
  const { db, url } = context.service
  const user = await givenUser(db, { credits: 100 })
  if (password) await givenPassword(db, user)
  const cookie = await givenSession(db, user)
  return {
    user,
    cookie,
    get: (path: string) => visit(url, path, { cookie }),
    end: (body: Record<string, string> = {}) =>
      visit(url, '/account/delete', { cookie, body: { username: user.username, password: PASSWORD, ...body } }),
    isDeleted: async () =>
      (await db.pool.query('SELECT deleted_at IS NOT NULL AS gone FROM users WHERE id = $1', [user.id])).rows[0].gone,
  }
}

const wiped = (id: string) =>
  until(
    async () =>
      (await context.service.db.pool.query('SELECT FROM account_purges WHERE user_id = $1', [id])).rowCount === 0,
    'the end of the wipe',
  )

/** The tables in which a text is found. */
async function tablesWith(text: string): Promise<string[]> {
  const { pool } = context.service.db
  const { rows } = await pool.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
  )
  const found: string[] = []
  for (const { name } of rows)
    if ((await pool.query(`SELECT FROM ${name} t WHERE t::text ILIKE $1 LIMIT 1`, [`%${text}%`])).rowCount)
      found.push(name)
  return found
}

describe('deleting one’s account', () => {
  it('takes images, prompts, keys, sessions, webhooks, folders, identities and addresses along', async () => {
    const { db, url, config } = context.service
    const { user, cookie, end, get } = await given()
    const { key } = user
    const secret = `s3cret${user.id.slice(0, 8)}`
    const email = `${secret}@mail.test`
    await operatorUserStore(db).setEmail(user.id, email)
    await db.pool.query('UPDATE api_keys SET name = $2 WHERE user_id = $1', [user.id, secret])
    await db.pool.query(`INSERT INTO identities (issuer, subject, user_id) VALUES ('https://id.test', $1, $2)`, [
      secret,
      user.id,
    ])
    await unsentMailStore(db).add({ to: email, subject: 'Hello', text: secret })
    const prompt = `${secret} at dusk`
    const draw = () =>
      call(url, 'POST', '/v1/images/generate', {
        key,
        body: { prompt, width: 256, height: 256, steps: 20 },
        headers: { 'idempotency-key': secret },
      })
    const slug: string = (await draw()).body.data.image_id
    await visit(url, '/webhooks', { cookie, body: { url: `https://example.com/${secret}` } })
    await visit(url, '/gallery/folders', { cookie, body: { name: secret } })
    expect((await tablesWith(secret)).length).toBeGreaterThan(5)

    expect((await get('/account')).html).toContain('href="/account/delete"')
    expect((await get('/account/delete')).html).toContain('Delete my account for good')
    const ended = await end()
    expect([ended.status, ended.location]).toEqual([303, '/account/deleted'])
    expect((await visit(url, '/account/deleted')).html).toContain('Your account is deleted')
    // At once.
    expect((await get('/account')).location).toMatch(/^\/sign-in/)
    expect((await call(url, 'GET', '/api/v1/models', { key })).status).toBe(401)
    expect((await visit(url, '/sign-in', { body: { username: user.username, password: PASSWORD } })).status).toBe(401)

    await wiped(user.id)
    expect(await tablesWith(secret)).toEqual([])
    expect(await tablesWith(user.username)).toEqual([])
    expect(await wholeImageStore(config, db).exists(slug)).toBe(false)
    expect((await visit(url, `/image/${slug}`)).status).toBe(410)
    const { rows } = await db.pool.query('SELECT count(*)::int AS entries FROM credit_ledger WHERE user_id = $1', [
      user.id,
    ])
    expect(rows[0].entries).toBeGreaterThan(1)
    // The name is free.
    expect(await operatorUserStore(db).find(user.username)).toBeUndefined()
  })

  it('cancels what is queued', async () => {
    const { db } = context.service
    const { user, end } = await given()
    await context.service.endWorkers()
    const { id } = await givenGeneration(db, user, { prompt: 'never drawn' })
    await end()
    await wiped(user.id)
    const { rows } = await db.pool.query('SELECT status, error, prompt FROM generations WHERE id = $1', [id])
    expect(rows).toEqual([{ status: 'failed', error: 'Canceled.', prompt: '' }])
  })

  it('needs the name and the password, and keeps the name that was typed', async () => {
    const { end, isDeleted, user } = await given()
    const wrong = await end({ password: 'wrong' })
    expect([wrong.status, wrong.html.includes('The current password is not right.')]).toEqual([403, true])
    expect(wrong.html).toContain(`value="${user.username}"`)
    const other = await end({ username: 'somebody' })
    expect([other.status, other.html.includes('This is not the name of your account.')]).toEqual([400, true])
    expect(await isDeleted()).toBe(false)
  })

  it('needs a session of the last quarter of an hour where there is no password', async () => {
    const { end, isDeleted, user } = await given({ password: false })
    const { db } = context.service
    await db.pool.query(`UPDATE sessions SET created_at = now() - interval '16 minutes' WHERE user_id = $1`, [user.id])
    expect((await end()).html).toContain('Sign out, sign in again')
    expect(await isDeleted()).toBe(false)
    await db.pool.query('UPDATE sessions SET created_at = now() WHERE user_id = $1', [user.id])
    expect((await end()).location).toBe('/account/deleted')
    expect(await isDeleted()).toBe(true)
  })

  it('is not for operators', async () => {
    const { db, url } = context.service
    const { username, cookie } = await givenOperator(db)
    const refused = await visit(url, '/account/delete', { cookie, body: { username, password: PASSWORD } })
    expect([refused.status, refused.html.includes('You are an operator')]).toEqual([403, true])
  })

  it('is explained, refused and confirmed in German', async () => {
    const { url } = context.service
    const { cookie, user } = await given()
    const headers = { 'accept-language': 'de' }
    const { html } = await visit(url, '/account/delete', { cookie, headers })
    expect(html).toContain('endet sofort, und niemand kann es zurückholen')
    expect(html).toContain('deine 100 Credits; sie werden nicht ausgezahlt')
    expect(html).toContain('Mein Konto endgültig löschen')
    const end = (username: string) =>
      visit(url, '/account/delete', { cookie, headers, body: { username, password: PASSWORD } })
    expect((await end('somebody')).html).toContain('Das ist nicht der Name deines Kontos.')
    const { location } = await end(user.username)
    expect((await visit(url, location as string, { headers })).html).toContain('Dein Konto ist gelöscht')
  })

  it('is finished by a server after a crash right behind the decision', async () => {
    const { db } = context.service
    const { user, isDeleted } = await given()
    await accountPurges(db).add(user.id)
    await wiped(user.id)
    expect(await isDeleted()).toBe(true)
    expect(await tablesWith(user.username)).toEqual([])
  })
})
