/** A Postgres that answers, and yet refuses statements for the state that it is in. */
import { beforeAll, describe, expect, it } from 'vitest'
import { call, expectCreateError, expectPersonalError, PROMPT } from '../support/client.js'
import { creditsOf, givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'

const context = useService()

// One trigger for all: each that comes or goes voids the plans of every connection.
beforeAll(() =>
  context.service.db.pool.query(`
    CREATE TABLE refused_with (state text);
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE given text := (SELECT state FROM refused_with);
    BEGIN
      IF given IS NOT NULL THEN RAISE EXCEPTION 'refused' USING ERRCODE = given; END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON generations EXECUTE FUNCTION refuse()`),
)

/** Every submit is refused with this SQLSTATE until the work has ended. */
async function refusing<T>(state: string, work: () => Promise<T>): Promise<T> {
  const { pool } = context.service.db
  await pool.query('INSERT INTO refused_with VALUES ($1)', [state])
  try {
    return await work()
  } finally {
    await pool.query('DELETE FROM refused_with')
  }
}

describe('a submit that Postgres refuses', () => {
  it.each([
    ['08006', 'a lost connection of a pooler'],
    ['08P01', 'a full pooler'],
    ['0A000', 'a plan that an altered table outdated'],
    ['0P000', 'a role that was dropped'],
    ['2200H', 'a sequence that has run out'],
    ['25006', 'a read-only Postgres'],
    ['25P03', 'a transaction that was idle for too long'],
    ['25P04', 'a transaction that took too long'],
    ['26000', 'a pooler that lost a prepared statement'],
    ['28000', 'a user that may not log in'],
    ['28P01', 'a changed password'],
    ['34000', 'a pooler that lost a portal'],
    ['3D000', 'a database that was dropped'],
    ['3F000', 'a schema that was dropped'],
    ['40001', 'a serialization failure'],
    ['40003', 'a statement whose end is not known'],
    ['40P01', 'a deadlock'],
    ['42501', 'a revoked right'],
    ['42702', 'a column that another schema has twice'],
    ['42703', 'a column of a newer schema'],
    ['42704', 'an object of a newer schema'],
    ['42725', 'a function that another schema has twice'],
    ['42803', 'a primary key that is missing'],
    ['42804', 'a column that has another type'],
    ['42809', 'a view in the place of a table'],
    ['42846', 'a column that has a type without a cast'],
    ['42883', 'a function of a newer schema'],
    ['428C9', 'a column that another schema generates'],
    ['42P01', 'a table of a newer schema'],
    ['42P03', 'a pooler that mixed portals'],
    ['42P05', 'a pooler that mixed prepared statements'],
    ['42P10', 'a unique index that is missing'],
    ['42P17', 'a policy that refers to itself'],
    ['42P21', 'columns with different collations'],
    ['42P22', 'columns without a common collation'],
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
    ['72000', 'a snapshot that is too old'],
    ['F0001', 'a lock file'],
    ['HV00N', 'a foreign server that is away'],
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

  it('because a unique index is missing is a 503', async () => {
    const { url, db } = context.service
    const user = await givenUser(db)
    const { rows } = await db.pool.query(`SELECT indexdef FROM pg_indexes WHERE indexname = 'idempotency_keys_pkey'`)
    await db.pool.query('ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_keys_pkey')
    try {
      const headers = { 'idempotency-key': 'one' }
      const answer = await call(url, 'POST', '/api/v1/generate', { key: user.key, body: PROMPT, headers })
      expectPersonalError(answer, 503, /^The service is temporarily unavailable/)
    } finally {
      const columns = /\(.*\)/.exec(rows[0].indexdef)?.[0]
      await db.pool.query(`ALTER TABLE idempotency_keys ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY ${columns}`)
    }
  })

  it.each([
    ['03000', 'an unfinished statement'],
    ['09000', 'a failed trigger'],
    ['21000', 'a subquery of several rows'],
    ['22001', 'a string that is too long'],
    ['22P02', 'bad data'],
    ['23505', 'a duplicate'],
    ['23514', 'a violated condition'],
    ['24000', 'a cursor in a wrong state'],
    ['25001', 'a transaction in a transaction'],
    ['25P02', 'a transaction that had failed'],
    ['27000', 'a row that a trigger had changed'],
    ['2BP01', 'an object that others need'],
    ['2D000', 'an end of a transaction in a function'],
    ['2F005', 'a function without a result'],
    ['38000', 'a function in another language'],
    ['39P01', 'a trigger that breaks the rules'],
    ['3B001', 'an unknown savepoint'],
    ['42601', 'a syntax error'],
    ['42712', 'an alias used twice'],
    ['42P02', 'an unknown parameter'],
    ['42P07', 'a table that exists'],
    ['42P18', 'a parameter without a type'],
    ['44000', 'a row that a view does not show'],
    ['P0001', 'a trigger of ours'],
    ['P0004', 'a failed assertion'],
  ])('with %s, %s, is a fault of the service', async (state) => {
    const { url, db } = context.service
    const user = await givenUser(db)
    const answer = await refusing(state, () => call(url, 'POST', '/api/v1/generate', { key: user.key, body: PROMPT }))
    expectPersonalError(answer, 500, /^Internal server error/)
  })
})
