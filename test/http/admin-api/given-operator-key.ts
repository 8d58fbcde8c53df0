import type { OperatorScope } from '../../../src/core/accounts/account.js'
import { apiKeyHint, hashApiKey, newApiKey } from '../../../src/core/accounts/api-key.js'
import type { Database } from '../../../src/db/client.js'
import { administration } from '../../../src/db/operator/administration.js'
import { givenUser } from '../../support/givens.js'

/** An operator, and a key of theirs. */
export async function givenOperatorKey(db: Database, scope: OperatorScope = 'all', name = 'billing') {
  const user = await givenUser(db)
  await db.pool.query(`UPDATE users SET role = 'operator' WHERE id = $1`, [user.id])
  const key = newApiKey('easel-operator')
  const facts = { hash: hashApiKey(key), hint: apiKeyHint(key), name }
  const id = await administration(db).keys.create({ userId: user.id, kind: 'operator', scope, ...facts })
  return { key, id, user }
}
