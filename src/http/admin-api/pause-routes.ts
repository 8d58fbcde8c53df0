import { z } from 'zod'
import { invalidParameter } from '../../core/errors.js'
import type { Oversight } from '../../core/operator/overview.js'
import { totalsOf } from '../../core/operator/overview.js'
import { PAUSE_SCOPES, type Pausable, pause, resume } from '../../core/operator/pauses.js'
import { personalRefusals } from '../shared/error-bodies.js'
import type { App } from '../shared/fastify-app.js'
import * as field from '../shared/fields.js'
import { viewOf } from '../shared/responses.js'
import { type ActPorts, act, requireReason } from './acts.js'
import * as admin from './admin-fields.js'

const tags = ['Queue']

const pauseView = z
  .object({
    scope: z.enum(PAUSE_SCOPES),
    target: z.string().describe('The model file or the backend; empty for everything'),
    reason: z.string(),
    paused_at: z.iso.datetime(),
  })
  .meta({ id: 'AdminPause' })

const scope = field.choice('scope', PAUSE_SCOPES)
const target = admin.line('target', 600).optional().describe('The model file or the backend; none for everything')
const paused = z
  .object({ scope: z.enum(PAUSE_SCOPES), target: z.string(), paused: z.boolean() })
  .meta({ id: 'AdminPaused' })

const listSchema = {
  operationId: 'listPauses',
  tags,
  summary: 'What is paused',
  description: 'What workers leave waiting.',
  response: { 200: z.object({ pauses: z.array(pauseView) }).meta({ id: 'AdminPauseList' }), ...personalRefusals() },
}
const pauseSchema = {
  operationId: 'pause',
  tags,
  summary: 'Start nothing, or nothing of one model file or on one backend',
  description: 'What runs goes on. The reason must be given.',
  headers: admin.POSTED,
  body: field.body({ scope, target, reason: admin.reason }),
  response: { 201: paused, ...personalRefusals(400, 404, 409, 413, 415, 422) },
}
const resumeSchema = {
  operationId: 'resume',
  tags,
  summary: 'End a pause',
  description: 'Wakes the workers at once.',
  querystring: z.strictObject({ scope, target }),
  response: { 200: paused, ...personalRefusals(400) },
}

const waitingWork = z.object({
  lane: z.string(),
  filename: z.string(),
  count: z.int(),
  oldest_at: z.iso.datetime(),
  first_place: z.int(),
  last_place: z.int(),
})
const runningWork = z.object({
  id: z.string(),
  lane: z.string(),
  filename: z.string(),
  username: z.string(),
  worker: z.string().nullable(),
  backend: z.string().nullable(),
  started_at: z.iso.datetime(),
})
const backend = z.object({
  worker: z.string(),
  name: z.string(),
  up: z.boolean(),
  seen_at: z.iso.datetime(),
  models: z.array(z.string()).nullable().describe('null: any'),
  loaded: z.string().nullable(),
  lacks: z.record(z.string(), z.array(z.string())).nullable(),
  error: z.string().nullable(),
  error_at: z.iso.datetime().nullable(),
})
const queue = z
  .object({
    waiting: z.int(),
    running: z.int(),
    oldest_at: z.iso.datetime().nullable(),
    images_last_hour: z.int(),
    failed_last_hour: z.int(),
    queue: z.array(waitingWork),
    running_generations: z.array(runningWork),
    backends: z.array(backend),
    failures: z.array(z.object({ reason: z.string(), count: z.int() })),
    pauses: z.array(pauseView),
  })
  .meta({ id: 'AdminQueue' })
const queueSchema = {
  operationId: 'getQueue',
  tags,
  summary: 'What waits, runs and fails, and the backends',
  description: 'Some seconds old.',
  response: { 200: queue, ...personalRefusals() },
}

export interface PausePorts extends ActPorts {
  readonly oversight: Oversight
}

/** @throws invalid_request */
function pausableOf({ scope, target }: { scope: Pausable['scope']; target?: string | undefined }): Pausable {
  if ((scope === 'all') === (target === undefined)) return { scope, target: target ?? '' }
  throw invalidParameter(
    'target',
    scope === 'all' ? 'Everything has no target: leave it out.' : `Name the ${scope} in target.`,
  )
}

export function pauseRoutes(app: App, ports: PausePorts): void {
  const config = admin.OF_MODELS

  app.get('/queue', { schema: queueSchema }, async () => {
    const overview = await ports.oversight.overview()
    const { waiting, oldestAt } = totalsOf(overview)
    const { queue, running, runningCount, failures, backends, pauses, imagesLastHour, failedLastHour } = overview
    return {
      ...{ waiting, running: runningCount, oldest_at: oldestAt?.toISOString() ?? null },
      ...{ images_last_hour: imagesLastHour, failed_last_hour: failedLastHour },
      queue: queue.map((it) => viewOf(waitingWork, it)),
      running_generations: running.map((it) => viewOf(runningWork, it)),
      backends: backends.map((it) => viewOf(backend, it as never)),
      failures: failures.map(({ reason, count }) => ({ reason, count })),
      pauses: pauses.map((it) => viewOf(pauseView, it)),
    }
  })

  app.get('/pauses', { schema: listSchema }, async () => ({
    pauses: (await ports.administration.pauses.list()).map((it) => viewOf(pauseView, it)),
  }))

  app.post('/pauses', { config, schema: pauseSchema }, (request, reply) => {
    const what = pausableOf(request.body)
    return act(request, reply, ports, async (acting) => {
      requireReason(acting)
      await pause(acting.stores.pauses, what, acting.by)
      return { status: 201, body: { ...what, paused: true } }
    })
  })

  app.delete('/pauses', { config, schema: resumeSchema }, (request, reply) => {
    const what = pausableOf(request.query)
    return act(request, reply, ports, async (acting) => {
      await resume(acting.stores.pauses, what, acting.by)
      return { body: { ...what, paused: false } }
    })
  })
}
