/** The tests of the command line, through /admin/v1: each of their lines that has an endpoint is a request. */
import { describe, expect, it } from 'vitest'
import { CALLS, driven } from '../../cli/admin-driver.js'
import { driveThroughAdminApi } from '../../cli/easel.js'

driveThroughAdminApi()

const through = (name: string, load: () => Promise<unknown>) => describe(name, () => load().then(() => undefined))
through('user', () => import('../../cli/user.test.js'))
through('sign-in', () => import('../../cli/sign-in.test.js'))
through('credits', () => import('../../cli/credits.test.js'))
through('key', () => import('../../cli/key.test.js'))
through('plans', () => import('../../cli/plans.test.js'))
through('packs', () => import('../../cli/packs.test.js'))
through('payments', () => import('../../cli/payments.test.js'))
through('moderation', () => import('../../cli/moderation.test.js'))
through('queue', () => import('../../cli/queue.test.js'))
through('models', () => import('../../cli/models.test.js'))
through('jobs', () => import('../../cli/jobs.test.js'))
through('job story', () => import('../../cli/job-story.test.js'))
through('user import', () => import('../../cli/user-import.test.js'))
through('images', () => import('../../cli/images.test.js'))
through('user webhooks', () => import('../../cli/user-webhooks.test.js'))
through('usage', () => import('../../cli/usage.test.js'))
through('recorded', () => import('../../cli/recorded.test.js'))

it('every command that has an endpoint was sent to it', () => {
  expect([...driven].sort()).toEqual(Object.keys(CALLS).sort())
})
