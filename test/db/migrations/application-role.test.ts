import { randomBytes } from 'node:crypto'
import { describe, expect, inject, it } from 'vitest'
import { grantApplicationRole } from '../../../src/db/migrations/application-role.js'
import { call, endOf, PROMPT } from '../../support/client.js'
import { patientDatabase } from '../../support/database.js'
import { givenUser } from '../../support/givens.js'
import { startService } from '../../support/service.js'
import { createTestDatabase, redisAvailable } from '../../support/services.js'

/** A database, and its URL as a user of which nothing is known yet. */
async function given() {
  const { url } = await createTestDatabase()
  const application = new URL(url)
  application.username = `app ${randomBytes(4).toString('hex')}`
  application.password = "it's secret"
  return { url, applicationUrl: application.href }
}

describe.each([true, false].filter((redis) => !redis || redisAvailable))(
  'the user of APP_DATABASE_URL (Redis: %s)',
  (redis) => {
    it('can serve, draw, give credits back and audit, but can change no table and no entry of the ledger or of the operators’ log', async () => {
      const { url, applicationUrl } = await given()
      await grantApplicationRole(url, applicationUrl)
      await grantApplicationRole(url, applicationUrl) // after the next migration
      const env = { DATABASE_URL: applicationUrl, RATE_LIMIT_MAX: '1000', INFERENCE_URL: 'preview:' }
      const service = await startService({ redis, env })
      const db = patientDatabase(applicationUrl, 2)
      try {
        const owner = await givenUser(db)
        const submit = async () => {
          const body = { ...PROMPT, width: 256, height: 256 }
          return (await call(service.url, 'POST', '/api/v1/generate', { key: owner.key, body })).body.id
        }
        const worker = await service.worker()
        expect(await endOf(service, owner, await submit())).toMatchObject({ status: 'succeeded' })
        await worker.stop()
        const canceled = await submit()
        await call(service.url, 'POST', `/api/v1/generate/${canceled}/cancel`, { key: owner.key })
        expect(await endOf(service, owner, canceled)).toMatchObject({ status: 'failed' })
        const refused = (text: string) => expect(db.pool.query(text)).rejects.toMatchObject({ code: '42501' })
        await refused('CREATE TABLE mine (i integer)')
        await refused('ALTER TABLE users ADD COLUMN mine integer')
        await refused('TRUNCATE users')
        await refused('UPDATE credit_ledger SET delta = 100')
        await refused('DELETE FROM credit_ledger')
        await refused('UPDATE all_credit_ledger SET delta = 100')
        await refused("SET easel.moving = 'on'; DELETE FROM all_credit_ledger")
        await refused('UPDATE operator_actions SET actor = target')
        await refused('DELETE FROM operator_actions')
      } finally {
        await db.pool.end()
        await service.close()
      }
    })
  },
)

it('nobody but the owner and the user of APP_DATABASE_URL moves rows to months, also after a restore without rights', async () => {
  const { url, applicationUrl } = await given()
  const db = patientDatabase(url, 1)
  await db.pool.query('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO PUBLIC')
  await grantApplicationRole(url, applicationUrl)
  const { username } = new URL(applicationUrl)
  const may = async (role: string, what: string) =>
    (await db.pool.query('SELECT has_function_privilege($1, $2, $3) AS may', [role, what, 'EXECUTE'])).rows[0].may
  for (const what of ['add_month(date)', 'move_to_months(text[])']) {
    expect(await may('public', what)).toBe(false)
    expect(await may(decodeURIComponent(username), what)).toBe(true)
  }
  await db.pool.end()
})

it('the user of APP_DATABASE_URL keeps its password if the URL has none, and must be named', async () => {
  const { url, applicationUrl } = await given()
  await grantApplicationRole(url, applicationUrl)
  const lacking = new URL(applicationUrl)
  lacking.password = ''
  await grantApplicationRole(url, lacking.href)
  lacking.username = ''
  await expect(grantApplicationRole(url, lacking.href)).rejects.toThrow('APP_DATABASE_URL names no user.')
  const db = patientDatabase(applicationUrl, 1)
  await expect(db.pool.query('SELECT FROM users')).resolves.toBeDefined()
  await db.pool.end()
})

it('a user in APP_DATABASE_URL that may do more than read and write rows is refused', async () => {
  const { url } = await given()
  const { username } = new URL(inject('services').postgresAdminUrl)
  await expect(grantApplicationRole(url, url)).rejects.toThrow(
    `The user "${username}" of APP_DATABASE_URL may do more than read and write rows: name another one.`,
  )
})
