import { userNotFound } from '../../errors.js'
import type { App } from '../app.js'
import { accountView } from './views.js'

/** Spec 4.1. */
export function accountRoutes(app: App): void {
  app.get('/account', { config: { toldWhenDeleted: true } }, async ({ caller }) => {
    if (caller.account.deleted) throw userNotFound()
    return accountView(caller.account, new Date())
  })
}
