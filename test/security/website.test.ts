import { stat } from 'node:fs/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { hashPassword, isPassword } from '../../src/account/password.js'
import { hashToken, newToken } from '../../src/account/session.js'
import { credentialStore } from '../../src/db/session-store.js'
import { givenSession } from '../support/browser.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'
import { formsOf } from '../web/forms.js'

const context = useService()
const { send } = formsOf(() => context.service.url)
const PASSWORD = 'correct horse battery'
let operator: string

beforeAll(async () => {
  const { db } = context.service
  const { id } = await givenUser(db)
  await db.pool.query(`UPDATE users SET role = 'operator' WHERE id = $1`, [id])
  operator = await givenSession(db, { id })
})

async function givenPassword(): Promise<GivenUser> {
  const user = await givenUser(context.service.db)
  await credentialStore(context.service.db).setPassword(user.id, await hashPassword(PASSWORD), undefined)
  return user
}
async function givenLink({ id }: GivenUser, email?: string): Promise<string> {
  const token = newToken()
  await credentialStore(context.service.db).addLink(id, hashToken(token), email)
  return token
}
const act = (path: string, cookie: string, body: Record<string, string> = {}) => send('POST', path, { body, cookie })

describe('guessing passwords', () => {
  it('leaves threads for images, however many are tried at once', async () => {
    let ended = 0
    const tries = Array.from({ length: 12 }, () => isPassword('wrong', undefined).then(() => ended++))
    await stat('.')
    expect(ended).toBeLessThan(4)
    await Promise.all(tries)
    expect(ended).toBe(12)
  })
})
