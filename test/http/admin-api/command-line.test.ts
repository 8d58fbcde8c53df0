/** The tests of the command line, through /admin/v1: each of their lines that has an endpoint is a request. */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { CALLS, driven } from '../../cli/admin-driver.js'
import { driveThroughAdminApi, driveThroughCommandLine } from '../../cli/easel.js'

driveThroughAdminApi()

// Under another address than that of the file itself: a process that has run it would load it no second time.
const addressOf = (name: string) =>
  `${fileURLToPath(new URL(`../../cli/${name}.test.ts`, import.meta.url))}?through-admin`

const FILES = [
  'user',
  'sign-in',
  'credits',
  'key',
  'plans',
  'packs',
  'payments',
  'moderation',
  'queue',
  'models',
  'jobs',
  'job-story',
  'user-import',
  'images',
  'reports',
  'user-webhooks',
  'usage',
  'recorded',
]
for (const name of FILES) describe(name, () => import(/* @vite-ignore */ addressOf(name)).then(() => undefined))

describe('all of them', () => {
  // The files that this process runs next are driven as they are.
  driveThroughCommandLine()

  it('every command that has an endpoint was sent to it', () => {
    expect([...driven].sort()).toEqual(Object.keys(CALLS).sort())
  })
})
