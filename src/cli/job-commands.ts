import type { Command } from 'commander'
import { CANCELED } from '../core/generations/failure-reason.js'
import type { GenerationStatus } from '../core/generations/generation.js'
import { requireAccount } from '../core/operator/accounts.js'
import { madeWithOf, SETTINGS, seconds, storyOf } from '../core/operator/generation-story.js'
import { cancelAsOperator, noSuchGeneration } from '../core/operator/generations.js'
import { operatorGenerationStore } from '../db/generations/history.js'
import { imageStore } from '../images/open-image-store.js'
import { reportOf } from '../process/generation-report.js'
import { oneOf, REASON, type ReasonOption, wholeNumber } from './arguments.js'
import type { Operator, Runner } from './connection.js'
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

async function listJobs({ stores }: Operator, { status, user, limit = DEFAULT_LIMIT }: ListOptions) {
  const accountId = user === undefined ? undefined : (await requireAccount(stores, user)).id
  const { items: jobs } = await stores.generations.list({ status, accountId }, { limit, after: undefined })
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

/** `cfgScale` becomes `cfg scale`. */
const inWords = (name: string) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

async function showJob({ db, config }: Operator, id: string) {
  const found = await operatorGenerationStore(db).find(id)
  if (!found) throw noSuchGeneration(id)
  const { generation: g, username, key, images } = found
  const traceId = g.traceparent?.split('-')[1]
  const { url } = imageStore(config)
  const json = reportOf(found, url)
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
      ...(images[0]?.madeWith && { 'made with': madeWithOf(images[0].madeWith) }),
      attempt: `${g.attempt} (${g.tries} counted as tries, ${g.deaths} ended by a worker's death)`,
      ...{ worker: g.worker, backend: g.backend },
      ...{ created: g.createdAt, started: g.startedAt, finished: g.finishedAt },
      ...{ deadline: g.deadlineAt, 'lease until': g.leaseUntil },
      ...(traceId && { trace: traceId }),
    }),
    table(
      images.map(({ idx: image, seed, width, height, bytes, slug, removedAt, removedReason: reason }) => {
        return {
          image,
          seed,
          size: `${width} × ${height}`,
          bytes,
          url: removedAt ? `removed ${removedAt.toISOString()}` : url(slug),
          reason,
        }
      }),
    ),
    table(
      storyOf(found).map(({ at, what }) => ({ time: at, after: seconds(at.getTime() - g.createdAt.getTime()), what })),
    ),
  ]
  return { json, text: parts.filter(Boolean).join('\n\n') }
}

async function cancelJob({ acting }: Operator, id: string, { reason }: ReasonOption) {
  await cancelAsOperator(acting(reason), id)
  const text = `Job ${id} is canceled; its credits were given back.`
  return { json: { id, status: 'failed', error: CANCELED }, text }
}
