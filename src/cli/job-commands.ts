import type { Command } from 'commander'
import { CANCELED } from '../core/generations/failure-reason.js'
import type { GenerationStatus } from '../core/generations/generation.js'
import type { MadeWith } from '../core/generations/run/backend.js'
import type { PutBackReason } from '../core/generations/run/ports.js'
import { requireAccount } from '../core/operator/accounts.js'
import { cancelAsOperator, noSuchGeneration } from '../core/operator/generations.js'
import { operatorGenerationStore } from '../db/generations/history.js'
import { imageStore } from '../images/open-image-store.js'
import { attemptsOf, type Found, interfaceOf, reportOf, SETTINGS } from '../process/generation-report.js'
import { oneOf, REASON, type ReasonOption, wholeNumber } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { facts, jsonOf, plural, table } from './output.js'

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
/** How a server was asked for the images, and with which definition of the model. */
const madeWithOf = ({ backend, version, sampler, scheduler, definition }: MadeWith): string =>
  [
    [backend, version].filter(Boolean).join(' '),
    [sampler, scheduler].filter(Boolean).join(' with '),
    definition && `${definition.name} (SHA-256 ${definition.hash})`,
  ]
    .filter(Boolean)
    .join(', ')

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
    table(storyOf(found)),
  ]
  return { json, text: parts.filter(Boolean).join('\n\n') }
}

async function cancelJob({ acting }: Operator, id: string, { reason }: ReasonOption) {
  await cancelAsOperator(acting(reason), id)
  const text = `Job ${id} is canceled; its credits were given back.`
  return { json: { id, status: 'failed', error: CANCELED }, text }
}

const INTERFACES = { website: 'the website', create_image: 'Create Image', personal_api: 'the Personal API' }

/** What else is put back has its word alone. */
const REASONS: { readonly [Reason in PutBackReason]?: string } = {
  unavailable: 'the GPU server could not be reached',
  busy: 'the GPU server was busy',
  auth: 'the GPU server, or a firewall before it, refused it: see the password in INFERENCE_URL',
  unusable: 'the GPU server is of another kind than INFERENCE_URL says',
  lost: 'the connection to the GPU server broke',
  timeout: 'it took longer than INFERENCE_TIMEOUT_SECONDS',
  oom: 'the GPU ran out of memory',
  backend_fault: 'the GPU server failed',
  bad_output: 'the GPU server sent no usable image',
  model_missing: 'the GPU server lacks the model',
  invalid_request: 'the GPU server refused what was asked of it',
  unsupported: 'the GPU server can not do what was asked of it',
  internal: 'the worker failed: see its log',
  store_failed: 'the images could not be stored',
  gpu_not_free: 'the GPU did not become free in time',
  worker_leaving: 'the worker was told to stop',
  lease_in_doubt: 'the worker could not reach Postgres',
  worker_lost: 'the worker died or stood still',
}

/** One line per event, in the order of their times. */
function storyOf(found: Found, now = new Date()) {
  const { generation: g, key, images, deliveries } = found
  const attempts = attemptsOf(found, now)
  const named = key.name && ` "${key.name}"`
  const request = g.requestId ? `, request ${g.requestId}` : ''
  const events: [Date, string][] = [
    [g.createdAt, `submitted through ${INTERFACES[interfaceOf(found)]} with the ${key.kind} key${named}${request}`],
    ...creditsMoved(found, 'charge'),
  ]
  for (const it of attempts) {
    const waited = it.waitedMs === null ? '' : `, after waiting ${seconds(it.waitedMs)}`
    const ran = it.ranMs === null ? '' : ` after ${seconds(it.ranMs)}`
    if (it.startedAt)
      events.push([it.startedAt, `attempt ${it.attempt} starts on ${it.backend}, worker ${it.worker}${waited}`])
    if (!it.endedAt) events.push([now, `attempt ${it.attempt} has been running${ran.replace('after', 'for')}`])
    else if (it.outcome === 'put_back') {
      const why = REASONS[it.reason as PutBackReason] ?? it.reason
      const counted = it.countedAsTry ? '; this counts as a try' : ''
      events.push([it.endedAt, `attempt ${it.attempt} is put back${ran}: ${why}${counted}`])
    } else if (it.outcome === 'succeeded') {
      events.push([it.endedAt, `attempt ${it.attempt} succeeds${ran} with ${plural(images.length, 'image')}`])
    } else events.push([it.endedAt, `attempt ${it.attempt} fails${ran}: ${it.reason}`])
  }
  events.push(...creditsMoved(found, 'refund'))
  if (g.worker === null && g.finishedAt) events.push([g.finishedAt, `fails while it waits: ${g.error}`])
  if (g.status === 'queued') {
    const pause = g.notBefore.getTime() - now.getTime()
    events.push([now, `waits for attempt ${g.attempt}${pause > 0 ? `, for at least ${seconds(pause)} more` : ''}`])
  }
  for (const it of deliveries) {
    const answer = it.lastStatus === null ? '' : `, answered ${it.lastStatus}`
    const fault = it.lastError === null ? '' : ` (${it.lastError})`
    const tries = it.attempts === 1 ? '1 try' : `${it.attempts} tries`
    const to = `webhook ${it.type} to ${new URL(it.url).origin}`
    events.push([it.finishedAt ?? it.createdAt, `${to}: ${it.status}${fault}${answer}, ${tries}`])
  }
  for (const { slug, removedAt } of images) if (removedAt) events.push([removedAt, `image ${slug} is removed`])
  return events
    .sort(([one], [other]) => one.getTime() - other.getTime())
    .map(([time, what]) => ({ time, after: seconds(time.getTime() - g.createdAt.getTime()), what }))
}

const creditsMoved = ({ entries }: Found, of: 'charge' | 'refund') =>
  entries
    .filter(({ kind }) => kind === of)
    .map(({ createdAt, delta, balance }): [Date, string] => {
      const moved = `${plural(Math.abs(delta), 'credit')} ${of === 'charge' ? 'charged' : 'given back'}`
      return [createdAt, `${moved}, the account has ${balance}`]
    })

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
