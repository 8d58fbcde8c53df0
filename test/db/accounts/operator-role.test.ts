import { expect, it } from 'vitest'
import { hashToken, newToken } from '../../../src/core/accounts/session.js'
import { operatorUserStore } from '../../../src/db/accounts/accounts.js'
import { credentialStore } from '../../../src/db/accounts/sessions.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'

const context = useService()

it.each([
  ['by hand', (id: string) => operatorUserStore(context.service.db).setRole(id, 'operator')],
  ['by a group', (id: string) => operatorUserStore(context.service.db).setRoleFromGroup(id, true)],
])(
  'a sign-in link that was made for a subscriber is over once the account is an operator %s',
  async (_how, promote) => {
    const { db } = context.service
    const { id, username } = await givenUser(db)
    const token = hashToken(newToken())
    await credentialStore(db).addLink(id, token, undefined, 60 * 24 * 30)
    expect(await credentialStore(db).findLink(token)).toBe(username)
    await promote(id)
    expect(await credentialStore(db).findLink(token)).toBeUndefined()
  },
)
