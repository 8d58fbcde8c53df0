/** A Postgres that answers, and yet refuses statements for the state that it is in. */
import { describe, expect, it } from 'vitest'
import { call, expectCreateError, expectPersonalError, PROMPT } from '../support/client.js'
import { creditsOf, givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'

const context = useService()

/** Every submit is refused with this SQLSTATE until the test has ended. */
async function refusing<T>(state: string, work: () => Promise<T>): Promise<T> {
  const { pool } = context.service.db
  await pool.query(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '${state}'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON generations EXECUTE FUNCTION refuse()`)
  try {
    return await work()
  } finally {
    await pool.query('DROP TRIGGER refuse ON generations; DROP FUNCTION refuse()')
  }
}

describe('a submit that Postgres refuses', () => {
  it.each([
    ['08006', 'a lost connection of a pooler'],
    ['08P01', 'a full pooler'],
    ['0A000', 'a plan that an altered table outdated'],
    ['25006', 'a read-only Postgres'],
    ['25P03', 'a transaction that was idle for too long'],
    ['25P04', 'a transaction that took too long'],
    ['26000', 'a pooler that lost a prepared statement'],
    ['28000', 'a user that may not log in'],
    ['28P01', 'a changed password'],
    ['3D000', 'a database that was dropped'],
    ['3F000', 'a schema that was dropped'],
    ['40001', 'a serialization failure'],
    ['40003', 'a statement whose end is not known'],
    ['40P01', 'a deadlock'],
    ['42501', 'a revoked right'],
    ['42703', 'a column of a newer schema'],
    ['42704', 'an object of a newer schema'],
    ['42883', 'a function of a newer schema'],
    ['42P01', 'a table of a newer schema'],
    ['42P05', 'a pooler that mixed prepared statements'],
    ['53000', 'a lack of resources'],
    ['53100', 'a full disk'],
    ['53200', 'a lack of memory'],
    ['53300', 'too many connections'],
    ['53400', 'a limit of its configuration'],
    ['54000', 'transaction IDs that are used up'],
    ['55000', 'a database that accepts no connections'],
    ['55006', 'an object in use'],
    ['55P03', 'a row that stays locked'],
    ['57014', 'a statement that took too long'],
    ['57P01', 'an end by an administrator'],
    ['57P02', 'a crash'],
    ['57P03', 'a start'],
    ['57P04', 'a dropped database'],
    ['57P05', 'a session that was idle for too long'],
    ['58030', 'an I/O error'],
    ['58P01', 'a missing file'],
    ['F0001', 'a lock file'],
    ['XX000', 'an internal error'],
    ['XX001', 'corrupted data'],
    ['XX002', 'a corrupted index'],
  ])('with %s, %s, is a 503 that says when to try again, and costs nothing', async (state) => {
    const { url, db } = context.service
    const [user, developer] = [await givenUser(db), await givenUser(db, { developer: { concurrency: 2 } })]
    const [personal, create] = await refusing(state, () =>
      Promise.all([
        call(url, 'POST', '/api/v1/generate', { key: user.key, body: PROMPT }),
        call(url, 'POST', '/v1/images/generate', {
          key: developer.key,
          body: { model: 'plant-milk', prompt: 'a lighthouse' },
        }),
      ]),
    )
    expectPersonalError(personal, 503, /^The service is temporarily unavailable/)
    expectCreateError(create, 503, 'unavailable', /^The service is temporarily unavailable/, { retry_after: 5 })
    for (const { headers } of [personal, create]) expect(headers.get('retry-after')).toBe('5')
    expect(await creditsOf(db, user)).toBe(100)
  })

  it.each([
    ['22P02', 'bad data'],
    ['23514', 'a violated condition'],
    ['42601', 'a syntax error'],
    ['42804', 'a wrong type'],
    ['P0001', 'a trigger of ours'],
  ])('with %s, %s, is a fault of the service', async (state) => {
    const { url, db } = context.service
    const user = await givenUser(db)
    const answer = await refusing(state, () => call(url, 'POST', '/api/v1/generate', { key: user.key, body: PROMPT }))
    expectPersonalError(answer, 500, /^Internal server error/)
  })
})
