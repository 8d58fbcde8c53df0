import { randomBytes } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { grantApplicationRole } from '../../../src/db/migrations/application-role.js'
import { useEasel } from '../../cli/easel.js'
import { givenSucceeded } from '../../cli/given-images.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { age, move } from '../../support/moved-to-months.js'
import { unguarded } from '../../support/unguarded.js'

const easel = useEasel({ each: true })
const SHAPE = { width: 8, height: 8 }

let user: GivenUser

beforeEach(async () => {
  user = await givenUser(easel.db)
  await givenSucceeded(easel, user, SHAPE)
  await age(easel.db)
})

const violations = async () =>
  (JSON.parse((await easel.run('audit --full --json')).stdout).checks as { name: string; violations: number }[])
    .filter((it) => it.violations > 0)
    .map(({ name }) => name)

it('the user of APP_DATABASE_URL moves what has ended and audits everything, without rights on the tables of a month', async () => {
  const application = new URL(easel.databaseUrl)
  application.username = `app ${randomBytes(4).toString('hex')}`
  application.password = 'secret'
  await grantApplicationRole(easel.databaseUrl, application.href)
  const env = { DATABASE_URL: application.href }
  expect(await easel.text('maintenance --live-months 1', env)).toMatch(/^Moved to their months: 1 generation\./)
  const { checks } = await easel.json('audit --full', env)
  expect(checks.filter((it: { violations: number }) => it.violations > 0)).toEqual([])
})

describe('the audit of everything', () => {
  beforeEach(() => move(easel.db))

  it('finds credits that come back when their charge has moved', async () => {
    expect(await violations()).toEqual([])
    // What is left in the live ledger of the account is its first grant.
    await unguarded(
      easel.db,
      `UPDATE users SET credits = (SELECT balance FROM credit_ledger l WHERE l.user_id = users.id ORDER BY l.id DESC LIMIT 1)
        WHERE id = $1`,
      [user.id],
    )
    expect(await violations()).toEqual(['balance-is-sum-of-ledger'])
  })

  it('finds a charge that overlooks one that has moved', async () => {
    await givenSucceeded(easel, user, SHAPE)
    expect(await violations()).toEqual([])
    const overlooked = `(SELECT delta FROM all_credit_ledger WHERE user_id = $1 AND month IS NOT NULL)`
    await unguarded(
      easel.db,
      `WITH entry AS (UPDATE credit_ledger SET balance = balance - ${overlooked} WHERE user_id = $1 AND kind = 'charge')
       UPDATE users SET credits = credits - ${overlooked} WHERE id = $1`,
      [user.id],
    )
    expect(await violations()).toEqual(['ledger-balances-add-up'])
  })
})
