import type { Command } from 'commander'
import { cancelStore } from '../db/failure-store.js'
import { type FoundGeneration, operatorGenerationStore } from '../db/history-store.js'
import { cancelGeneration } from '../generation/cancel.js'
import { CANCELED } from '../generation/failure-reason.js'
import type { GenerationStatus } from '../generation/generation.js'
import { fileImageStore } from '../images/file-image-store.js'
import { oneOf, wholeNumber } from './arguments.js'
import type { Operator } from './connection.js'
import { OperatorError } from './operator-error.js'
import { type Answer, facts, type Runner, table } from './output.js'

import { requireUser } from './user-view.js'

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
    .action(run.connected(listJobs))
  jobs.command('show').description('show all about one job').argument('<id>').action(run.connected(showJob))
  jobs
    .command('cancel')
    .description('end a queued or running job and give its credits back')
    .argument('<id>')
    .action(run.connected(cancelJob))
}

interface ListOptions {
  readonly status?: GenerationStatus
  readonly user?: string
  readonly limit?: number
}

async function listJobs({ db }: Operator, { status, user, limit = DEFAULT_LIMIT }: ListOptions): Promise<Answer> {
  const userId = user === undefined ? undefined : (await requireUser(db, user)).id
  const jobs = await operatorGenerationStore(db).list({ status, userId, limit })
  return {
    json: jobs.map((job) => ({
      id: job.id,
      status: job.status,
      username: job.username,
      lane: job.lane,
      metered: job.metered,
      model_version_id: job.modelVersionId,
      model_name: job.modelName,
      batch_size: job.batchSize,
      credits_charged: job.cost,
      error: job.error,
      created_at: job.createdAt,
      started_at: job.startedAt,
      finished_at: job.finishedAt,
    })),
    text: table(
      ['id', 'status', 'user', 'lane', 'model', 'images', 'credits', 'created', 'finished', 'error'],
      jobs.map((job) => [
        ...[job.id, job.status, job.username, job.lane, job.modelName, job.batchSize, job.cost],
        ...[job.createdAt, job.finishedAt, job.error],
      ]),
      'No such jobs.',
    ),
  }
}

async function showJob({ db, config }: Operator, id: string): Promise<Answer> {
  const found = await operatorGenerationStore(db).find(id)
  if (!found) throw noSuchJob(id)
  const { url } = fileImageStore({ root: config.storagePath, cdnBaseUrl: config.cdnBaseUrl })
  return { json: jobJson(found, url), text: jobFacts(found, url) }
}

async function cancelJob({ db, config, foundation }: Operator, id: string): Promise<Answer> {
  const jobs = operatorGenerationStore(db)
  const status = await jobs.statusOf(id)
  if (!status) throw noSuchJob(id)
  if (status === 'succeeded' || status === 'failed') throw hasEnded(id, status)
  const { lock, queue } = await foundation()
  const images = fileImageStore({ root: config.storagePath, cdnBaseUrl: config.cdnBaseUrl })
  const canceled = await cancelGeneration({ cancels: cancelStore(db), lock, queue, images }, id, CANCELED, {
    onlyQueued: false,
  })
  if (!canceled) throw hasEnded(id, (await jobs.statusOf(id)) ?? 'failed')
  return {
    json: { id, status: 'failed', error: CANCELED },
    text: `Job ${id} is canceled; its credits were given back.`,
  }
}

const noSuchJob = (id: string) => new OperatorError(`No job has the ID "${id}": "easel jobs list" shows them.`)

const hasEnded = (id: string, status: GenerationStatus) =>
  new OperatorError(`Job ${id} has already ended (${status}): only a queued or processing one can be canceled.`)

function jobJson({ generation: g, username, key, images, entries }: FoundGeneration, url: (slug: string) => string) {
  return {
    id: g.id,
    status: g.status,
    error: g.error,
    username,
    key: { id: key.id, kind: key.kind, name: key.name },
    lane: g.lane,
    metered: g.metered,
    credits_charged: g.cost,
    model_version_id: g.modelVersionId,
    model_name: g.modelName,
    filename: g.filename,
    prompt: g.prompt,
    negative_prompt: g.negativePrompt,
    width: g.width,
    height: g.height,
    batch_size: g.batchSize,
    steps: g.steps,
    cfg_scale: g.cfgScale,
    sampler: g.sampler,
    seed: g.seed,
    attempt: g.attempt,
    tries: g.tries,
    deaths: g.deaths,
    worker: g.worker,
    backend: g.backend,
    created_at: g.createdAt,
    started_at: g.startedAt,
    finished_at: g.finishedAt,
    deadline_at: g.deadlineAt,
    lease_until: g.leaseUntil,
    images: images.map((image) => ({
      slug: image.slug,
      url: image.removedAt ? null : url(image.slug),
      seed: image.seed,
      width: image.width,
      height: image.height,
      bytes: image.bytes,
      sha256: image.sha256,
      removed_at: image.removedAt,
      removed_reason: image.removedReason,
    })),
    ledger: entries.map(({ kind, delta, balance, createdAt }) => ({ kind, delta, balance, created_at: createdAt })),
  }
}

function jobFacts({ generation: g, username, key, images, entries }: FoundGeneration, url: (slug: string) => string) {
  const parts = [
    facts([
      ['id', g.id],
      ['status', g.status],
      ['error', g.error],
      ['user', username],
      ['key', `${key.id} (${key.kind}${key.name && `, ${key.name}`})`],
      ['lane', g.lane],
      ['credits', g.metered ? 'metered' : g.cost],
      ['model', `${g.modelName} (version ${g.modelVersionId}, ${g.filename})`],
      ['prompt', g.prompt],
      ['negative prompt', g.negativePrompt],
      ['images', `${g.batchSize} of ${g.width} × ${g.height}`],
      ['steps', g.steps],
      ['cfg scale', g.cfgScale],
      ['sampler', g.sampler],
      ['seed', g.seed],
      ['attempt', `${g.attempt} (${g.tries} counted as tries, ${g.deaths} ended by a worker's death)`],
      ['worker', g.worker],
      ['backend', g.backend],
      ['created', g.createdAt],
      ['started', g.startedAt],
      ['finished', g.finishedAt],
      ['deadline', g.deadlineAt],
      ['lease until', g.leaseUntil],
    ]),
  ]
  if (images.length > 0) {
    const rows = images.map((image) => [
      ...[image.idx, image.seed, image.bytes],
      image.removedAt ? `removed ${image.removedAt.toISOString()}` : url(image.slug),
      image.removedReason,
    ])
    parts.push(table(['image', 'seed', 'bytes', 'url', 'reason'], rows, ''))
  }
  if (entries.length > 0) {
    const rows = entries.map(({ kind, delta, balance, createdAt }) => [createdAt, kind, delta, balance])
    parts.push(table(['time', 'kind', 'delta', 'balance'], rows, ''))
  }
  return parts.join('\n\n')
}
