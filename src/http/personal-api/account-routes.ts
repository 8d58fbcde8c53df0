import { userNotFound } from '../../errors.js'
import type { App } from '../fastify-app.js'
import { refusals } from './envelope.js'
import { account, accountView } from './views.js'

/** Spec 4.1. */
export function accountRoutes(app: App): void {
  app.get(
    '/account',
    {
      config: { toldWhenDeleted: true },
      schema: {
        operationId: 'getAccount',
        tags: ['Account'],
        summary: 'Your account',
        description: 'Your name, credits and subscription.',
        response: { 200: account, ...refusals(404) },
      },
    },
    async ({ caller }) => {
      if (caller.account.deleted) throw userNotFound()
      return accountView(caller.account)
    },
  )
}
