/** What is looked at when the faults have stopped and everything had its time to heal. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { IMAGE_FILE } from '../../../src/core/images/ports.js'
import { auditService } from '../../../src/process/audit-service.js'
import type { Config } from '../../../src/process/config.js'
import { openGenerationQueue } from '../../../src/queue/queues.js'
import { createPatientRedis } from '../../../src/redis/client.js'
import { scanKeys } from '../../../src/redis/cluster.js'
import type { Kept } from './gpu-hosts.js'
import type { Gpus } from './gpus.js'
import type { FinalGeneration, Violation } from './history.js'

const INVARIANTS: Readonly<Record<string, string>> = {
  'balance-is-sum-of-ledger': 'I1',
  'ledger-balances-add-up': 'I1',
  'no-negative-balance': 'I2',
  'expiring-credits-add-up': 'I1',
  'periods-are-granted-once': 'periods',
  'periods-are-settled-in-time': 'periods',
  'payments-are-granted-once': 'payments',
  'purchases-belong-to-payments': 'payments',
  'paid-subscriptions-end-as-paid': 'payments',
  'payment-events-are-worked-off': 'payments',
  'charged-exactly-once': 'I3',
  'refunded-exactly-once': 'I5',
  'idempotency-keys-stay-with-their-user': 'I4',
  'idempotency-keys-lead-to-their-own-job': 'I4',
  'one-active-charged-job-per-user': 'I6',
  'charged-jobs-never-overlapped': 'I6',
  'metered-jobs-keep-to-their-keys-limit': 'I6',
  'jobs-end-by-their-deadline': 'I8',
  'running-jobs-have-a-worker': 'I8',
  'job-states-are-consistent': 'I11',
  'records-share-their-jobs-times': 'I11',
  'succeeded-jobs-have-their-images': 'I10',
  'images-are-as-ordered': 'I10',
  'slugs-are-used-once': 'I10',
  'metered-images-are-counted-once': 'I3',
  'ideas-are-submitted-in-time': 'up next',
  'queue-holds-only-jobs-to-run': 'I12',
  'queue-events-are-of-known-jobs': 'I7',
  'locks-belong-to-active-jobs': 'I9',
  'images-are-stored-intact': 'I10',
  'removed-images-have-no-file': 'I14',
  'private-images-have-no-public-file': 'I14',
  'failed-jobs-leave-no-file': 'I14',
  'files-belong-to-images': 'I14',
}

/** `easel audit --full`, past the proxies. */
export async function auditViolations(config: Config, databaseUrl: string, redisUrl: string): Promise<Violation[]> {
  const checks = await auditService(
    { ...config, databaseUrl, databaseListenUrl: databaseUrl, redisUrl },
    { sample: undefined },
  )
  return checks.flatMap(({ name, violations, examples }) =>
    violations === 0
      ? []
      : [
          {
            invariant: INVARIANTS[name] ?? name,
            what: `${name}: ${violations}, such as ${examples.slice(0, 5).join(', ')}`,
          },
        ],
  )
}

/** Waits until no generation is active any more, or the time is over. */
export async function untilQuiet(client: pg.Client, forMs: number): Promise<boolean> {
  for (const end = Date.now() + forMs; ; await delay(200)) {
    const { rows } = await client.query(
      `SELECT count(*)::integer AS n FROM generations WHERE status IN ('queued', 'processing')`,
    )
    if (rows[0].n === 0) return true
    if (Date.now() > end) return false
  }
}

export async function finalGenerations(
  client: pg.Client,
): Promise<Map<string, FinalGeneration & { tag: string; error: string | null }>> {
  const { rows } = await client.query(
    `SELECT g.id, u.username AS user, g.status, g.cost::integer AS cost, g.metered, g.error, split_part(g.prompt, ' ', 3) AS tag
       FROM generations g JOIN users u ON u.id = g.user_id`,
  )
  return new Map(rows.map(({ id, ...row }) => [id, row]))
}

/** ComfyUI is told to erase a prompt when its image has been fetched. */
const ERASED_WITHIN_MS = 5000

/**
 * What ComfyUI hosts still have of prompts. The last prompt of a worker that died is drawn to its end, unless another one
 * wants to be and has it canceled first; its image and history stay until ComfyUI restarts, as do those that could not be
 * erased. So only what the host began for the first time since `calm` must be gone.
 */
export async function keptPrompts(
  gpus: Gpus,
  canary: string,
  read: (prompt: string) => { readonly tag: string },
  calm: number,
  withinMs = ERASED_WITHIN_MS,
): Promise<Violation[]> {
  const sinceCalm = ({ gpu, prompt }: Kept) => {
    const first = gpus.runs.find((run) => run.gpu === gpu && run.tag === read(prompt).tag)
    return first ? first.at - calm : Number.NEGATIVE_INFINITY
  }
  for (const until = Date.now() + withinMs; ; await delay(100)) {
    const left = (await gpus.kept(canary)).filter((kept) => kept.where === 'queue' || sinceCalm(kept) >= 0)
    if (left.length === 0 || Date.now() > until)
      return left.map((kept) => {
        const { tag } = read(kept.prompt)
        const when = `begun ${sinceCalm(kept)} ms after the faults`
        return { invariant: 'I16', what: `host ${kept.gpu} still has ${tag} in its ${kept.where}, ${when}` }
      })
  }
}

const SETTLE_MS = 40_000

/** What BullMQ still holds once nothing is left to run. Workers drop stray jobs within 30 s, the lock of a dead one included. */
export async function queueLeftovers(redisUrl: string): Promise<Violation[]> {
  const redis = createPatientRedis(redisUrl, () => undefined)
  const queue = openGenerationQueue({ kind: 'redis', redis, prefix: '{easel}' })
  try {
    for (const end = Date.now() + SETTLE_MS; ; await delay(250)) {
      const counts = await queue.getJobCounts('wait', 'active', 'delayed', 'failed', 'completed', 'prioritized')
      const hashes: string[] = []
      for await (const keys of scanKeys(redis, '{easel}:generations:gen_*', 500)) hashes.push(...keys)
      const left = Object.entries(counts).filter(([, n]) => n > 0)
      if (left.length === 0 && hashes.length === 0) return []
      if (Date.now() > end) {
        const what = `BullMQ still holds ${JSON.stringify(Object.fromEntries(left))} and ${hashes.slice(0, 3).join(', ')}`
        return [{ invariant: 'I12', what }]
      }
    }
  } finally {
    await queue.close()
    redis.disconnect()
  }
}

/** The reconciler sweeps once a minute what failed more than half a minute ago. */
const SWEPT_WITHIN_MS = 110_000

/** Files that belong to no image, though nothing is active that could still make one, and the sweep has been. */
export async function strayFiles(client: pg.Client, directory: string): Promise<Violation[]> {
  for (const until = Date.now() + SWEPT_WITHIN_MS; ; ) {
    const found = await strayFilesNow(client, directory)
    if (found.length === 0 || Date.now() > until) return found
    await new Promise((resolve) => setTimeout(resolve, 1000))
  }
}

async function strayFilesNow(client: pg.Client, directory: string): Promise<Violation[]> {
  const names = (await readdir(directory)).filter((name) => IMAGE_FILE.test(name))
  const { rows } = await client.query<{ name: string; id: string | null; status: string | null; error: string | null }>(
    `SELECT name, g.id, g.status, g.error FROM unnest($1::text[], $2::text[]) AS f (name, slug)
       LEFT JOIN generations g ON f.slug = ANY (g.slugs)
      WHERE NOT EXISTS (SELECT FROM images i WHERE i.slug = f.slug)`,
    [names, names.map((name) => IMAGE_FILE.exec(name)?.[1])],
  )
  const found: Violation[] = []
  for (const { name, id, status, error } of rows) {
    const { mtime } = await stat(join(directory, name))
    const of = `${id ?? 'nobody'} (${status}${error ? `, "${error}"` : ''})`
    found.push({
      invariant: 'I14',
      what: `${name}, written ${mtime.toISOString()}, belongs to no image; its slug is of ${of}`,
    })
  }
  return found
}
