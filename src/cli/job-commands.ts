import type { Command } from 'commander'
import { type CancelStore, cancelGeneration } from '../core/generations/cancel.js'
import { CANCELED } from '../core/generations/failure-reason.js'
import { type GenerationStatus, PARAMETER_NAMES } from '../core/generations/generation.js'
import { cancelStore } from '../db/generations/end.js'
import { operatorGenerationStore } from '../db/generations/history.js'
import { imageStore } from '../images/open-image-store.js'
import { oneOf, REASON, type ReasonOption, requireUser, wholeNumber } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { attemptsOf, interfaceOf, storyOf } from './job-story.js'
import { OperatorError } from './operator-error.js'
import { facts, jsonOf, table } from './output.js'

const STATUSES = ['queued', 'processing', 'succeeded', 'failed'] as const
const DEFAULT_LIMIT = 50

export function jobCommands(program: Command, run: Runner): void {
  const jobs = program.command('jobs').description('generations')
  jobs
    .command('list')
    .description('list jobs, newest first')
    .option('--status <status>', STATUSES.join(', '), oneOf('--status', STATUSES))
    .option('--user <username>', 'of this user only')
    .option('--limit <n>', `how many, ${DEFAULT_LIMIT} unless given`, wholeNumber('--limit', 1, 10_000))
    .action(run(listJobs))
  jobs.command('show <id>').description('show all about one job').action(run(showJob))
  jobs
    .command('cancel <id>')
    .description('end a queued or running job and give its credits back')
    .option(...REASON)
    .action(run(cancelJob))
}

type ListOptions = { readonly status?: GenerationStatus; readonly user?: string; readonly limit?: number }

async function listJobs({ db }: Operator, { status, user, limit = DEFAULT_LIMIT }: ListOptions) {
  const userId = user === undefined ? undefined : (await requireUser(db, user)).id
  const jobs = await operatorGenerationStore(db).list({ status, userId, limit })
  return {
    json: jobs.map((job) => ({
      ...jsonOf(job, 'id', 'status', 'username', 'lane', 'metered', 'modelVersionId', 'modelName', 'batchSize'),
      credits_charged: job.cost,
      ...jsonOf(job, 'error', 'createdAt', 'startedAt', 'finishedAt'),
    })),
    text: table(
      jobs.map((job) => ({
        ...{ id: job.id, status: job.status, user: job.username, lane: job.lane, model: job.modelName },
        ...{ images: job.batchSize, credits: job.cost, created: job.createdAt, finished: job.finishedAt },
        error: job.error,
      })),
      'No such jobs.',
    ),
  }
}

/** How it is drawn: without the texts and the size, which have their own places. */
const SETTINGS = PARAMETER_NAMES.filter((name) => !['prompt', 'negativePrompt', 'width', 'height'].includes(name))

/** `cfgScale` becomes `cfg scale`. */
const inWords = (name: string) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

async function showJob({ db, config }: Operator, id: string) {
  const found = await operatorGenerationStore(db).find(id)
  if (!found) throw noSuchJob(id)
  const { generation: g, username, key, images, entries, deliveries } = found
  const traceId = g.traceparent?.split('-')[1]
  const { url } = imageStore(config)
  const json = {
    ...jsonOf(g, 'id', 'status', 'error'),
    username,
    key: jsonOf(key, 'id', 'kind', 'name'),
    interface: interfaceOf(found),
    request_id: g.requestId,
    trace_id: traceId ?? null,
    ...jsonOf(g, 'lane', 'metered'),
    credits_charged: g.cost,
    ...jsonOf(g, 'modelVersionId', 'modelName', 'filename', 'prompt', 'negativePrompt', 'width', 'height', 'batchSize'),
    ...jsonOf(g, ...SETTINGS, 'seed', 'attempt', 'tries', 'deaths', 'worker', 'backend'),
    ...jsonOf(g, 'createdAt', 'startedAt', 'finishedAt', 'deadlineAt', 'leaseUntil'),
    images: images.map((image) => ({
      slug: image.slug,
      url: image.removedAt ? null : url(image.slug),
      ...jsonOf(image, 'seed', 'width', 'height', 'bytes', 'sha256', 'removedAt', 'removedReason'),
    })),
    ledger: entries.map((entry) => jsonOf(entry, 'kind', 'delta', 'balance', 'createdAt')),
    attempts: attemptsOf(found).map((attempt) => jsonOf(attempt)),
    // Its path may be a secret.
    webhooks: deliveries.map((delivery) => ({ ...jsonOf(delivery), url: new URL(delivery.url).origin })),
  }
  const parts = [
    facts({
      ...{ id: g.id, status: g.status, error: g.error, user: username },
      key: `${key.id} (${key.kind}${key.name && `, ${key.name}`})`,
      lane: g.lane,
      credits: g.metered ? 'metered' : g.cost,
      model: `${g.modelName} (version ${g.modelVersionId}, ${g.filename})`,
      prompt: g.prompt,
      'negative prompt': g.negativePrompt,
      images: `${g.batchSize} of ${g.width} × ${g.height}`,
      ...Object.fromEntries(SETTINGS.map((name) => [inWords(name), g[name]])),
      seed: g.seed,
      attempt: `${g.attempt} (${g.tries} counted as tries, ${g.deaths} ended by a worker's death)`,
      ...{ worker: g.worker, backend: g.backend },
      ...{ created: g.createdAt, started: g.startedAt, finished: g.finishedAt },
      ...{ deadline: g.deadlineAt, 'lease until': g.leaseUntil },
      ...(traceId && { trace: traceId }),
    }),
    table(
      images.map(({ idx: image, seed, bytes, slug, removedAt, removedReason: reason }) => {
        return { image, seed, bytes, url: removedAt ? `removed ${removedAt.toISOString()}` : url(slug), reason }
      }),
    ),
    table(storyOf(found)),
  ]
  return { json, text: parts.filter(Boolean).join('\n\n') }
}

async function cancelJob(operator: Operator, id: string, { reason }: ReasonOption) {
  const jobs = operatorGenerationStore(operator.db)
  const cancels: CancelStore = {
    cancel: (...asked) =>
      operator.recorded(
        reason,
        (db) => cancelStore(db).cancel(...asked),
        (ended) => ended && ['canceled generation', id],
      ),
  }
  const status = await jobs.statusOf(id)
  if (!status) throw noSuchJob(id)
  const isCanceled = ['queued', 'processing'].includes(status) && (await cancelAsOperator(operator, id, cancels))
  if (!isCanceled)
    throw new OperatorError(
      `Job ${id} has already ended (${await jobs.statusOf(id)}): only a queued or processing one can be canceled.`,
    )
  const text = `Job ${id} is canceled; its credits were given back.`
  return { json: { id, status: 'failed', error: CANCELED }, text }
}

/** @param cancels one that also records the act, unless it is part of another act. False: it has already ended */
export async function cancelAsOperator(
  { db, config, foundation }: Operator,
  id: string,
  cancels: CancelStore = cancelStore(db),
): Promise<boolean> {
  const { lock, queue } = await foundation()
  const ports = { cancels, lock, queue, images: imageStore(config) }
  return cancelGeneration(ports, id, CANCELED, { onlyQueued: false })
}

const noSuchJob = (id: string) => new OperatorError(`No job has the ID "${id}": "easel jobs list" shows them.`)
