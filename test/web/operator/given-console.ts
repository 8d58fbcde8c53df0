/** What the tests of the operator's console look at. */
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import type { Database } from '../../../src/db/client.js'
import { backendRegistry } from '../../../src/db/generations/backends.js'
import { runStore } from '../../../src/db/generations/run.js'
import { MODEL } from '../../support/givens.js'

export const HOSTILE = '<img src=x onerror=alert(1)>\u202e gpu'
export const OPERATOR_PAGES = [
  ...[
    '/operator',
    '/operator/models',
    `/operator/models/${MODEL.id}`,
    '/operator/models/workflow',
    '/operator/models/import',
    '/operator/plans',
    '/operator/log',
    '/operator/images',
    '/operator/images/removed',
    '/operator/reports',
    '/operator/api',
  ],
]

const SERVES = { samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }

/** A backend with hostile names, which a worker reports for as long as the test takes. */
export async function givenBackend(db: Database): Promise<void> {
  const serves = { ...SERVES, models: [MODEL.filename] }
  await backendRegistry(db).announce(HOSTILE, 'a1111+http://gpu', true, serves, { loaded: HOSTILE, error: HOSTILE })
  await db.pool.query(`UPDATE backends SET seen_at = now() + interval '1 hour'`)
}

/** Whether a worker that can draw anything gets something to draw now. */
export const workerClaims = async (db: Database): Promise<boolean> =>
  (await runStore(db, { refundFailed: true }).claim({ worker: 'w', backend: 'b' }, { ...SERVES, models: null })) !==
  undefined
