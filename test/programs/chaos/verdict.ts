import { join } from 'node:path'
import type pg from 'pg'
import { DEADLINE_PASSED } from '../../../src/core/generations/failure-reason.js'
import type { Bought } from '../payments/buyers.js'
import type { ChaosClient } from './client.js'
import { eventViolations } from './event-checks.js'
import {
  auditViolations,
  finalGenerations,
  keptPrompts,
  queueLeftovers,
  strayFiles,
  untilQuiet,
} from './final-checks.js'
import { finalProbes } from './final-probes.js'
import type { Violation } from './history.js'
import { limitViolations } from './key-limits.js'
import type { Observer } from './observer.js'
import { type Acts, actViolations } from './operators.js'
import { imageViolations, type KnownImages } from './own-images.js'
import { paymentViolations } from './payers.js'
import { grantedByPlans, periodViolations } from './periods.js'
import { internalErrors, readLog, readRedis } from './secrets.js'
import { CANARY, readPrompt, SECRET, type Stage } from './stage.js'
import { type LinedUp, upNextViolations } from './visitors.js'
import { webhookViolations } from './webhook-checks.js'
import { drawnTwice, workflowViolations } from './workflow.js'

export interface VerdictOptions {
  readonly healMs: number
  readonly mayExpire: boolean
  /** Since when nothing breaks any more, as Date.now() gives it. */
  readonly calm: number
  readonly acts: Acts
  readonly bought: readonly Bought[]
  readonly linedUp: readonly LinedUp[]
  readonly images: KnownImages
}

/** Every check there is, once everything has had its time to heal. */
export async function verdict(stage: Stage, client: ChaosClient, seen: Observer, options: VerdictOptions) {
  const { redis, servers, workers } = stage
  const postgres = await stage.connect()
  const { credits, nextSubmit } = await finalProbes(client, stage.users, CANARY, stage.models)
  await untilQuiet(postgres, options.healMs)
  const generations = await finalGenerations(postgres)
  const periods = await periodViolations(postgres)
  const payments = await paymentViolations(
    postgres,
    stage.till,
    stage.payers,
    options.bought,
    stage.config.paymentGraceDays,
  )
  const left = await credits(await grantedByPlans(postgres))
  const webhooks = await webhookViolations(postgres, client, stage.users, stage.receiver)
  seen.end()
  seen.checker.finish({ generations, credits: left, nextSubmit })

  const workflows = await workflowViolations(postgres, stage.gpus.runs)
  const violations: Violation[] = [
    ...seen.violations,
    ...seen.checker.violations,
    ...webhooks,
    ...periods,
    ...(await limitViolations(postgres, stage.users)),
    ...(await actViolations(postgres, options.acts)),
    ...(await upNextViolations(postgres, options.linedUp, generations.values())),
    ...(await imageViolations(postgres, options.images)),
    ...payments,
    ...(await eventViolations(postgres)),
    ...(await auditViolations(stage.config, stage.postgres.url, redis.url())),
    ...(await queueLeftovers(redis.url())),
    ...(await strayFiles(postgres, stage.images.path)),
    ...(await readRedis(redis.url(), SECRET)),
    ...workflows.found,
    ...drawnTwice(stage.gpus.runs),
    ...(await keptPrompts(stage.gpus, CANARY, readPrompt, options.calm)),
    ...(options.mayExpire ? [] : await expired(postgres)),
  ]
  await postgres.end()
  const internals: string[] = []
  for (const { name } of [...servers, ...workers]) {
    const log = join(stage.directory, `${name}.log`)
    violations.push(...(await readLog(log, SECRET)))
    internals.push(...(await internalErrors(log)))
  }
  return { violations, internals, generations: [...generations.values()], workflows: workflows.drawn }
}

async function expired(postgres: pg.Client): Promise<Violation[]> {
  const { rows } = await postgres.query('SELECT id FROM generations WHERE error = $1', [DEADLINE_PASSED])
  return rows.map(({ id }) => ({
    invariant: 'I8',
    what: `${id} missed its deadline, though nothing was away for so long`,
  }))
}
