import type { Command } from 'commander'
import { cancelStore } from '../db/failure-store.js'
import { operatorGenerationStore } from '../db/history-store.js'
import { cancelGeneration } from '../generation/cancel.js'
import { CANCELED } from '../generation/failure-reason.js'
import type { GenerationStatus } from '../generation/generation.js'
import { fileImageStore } from '../images/file-image-store.js'
import type { Answer, Runner } from './answer.js'
import { oneOf, wholeNumber } from './arguments.js'
import type { Operator } from './connection.js'
import { jobFacts, jobJson } from './job-view.js'
import { table } from './layout.js'
import { OperatorError } from './operator-error.js'
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
