/** What people wait for while months are moved or archived, and while nothing is: in turn, so that what else the machine does meets both. */
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { median, percentile } from '../bench/figures.js'
import { ASKED, type Load, type Stretch } from './load.js'
import { waitsText, watchWaits } from './waits.js'

export interface Compared {
  readonly name: string
  /** The rounds, in order. */
  readonly rounds: readonly { readonly quiet: Stretch; readonly busy: Stretch }[]
  readonly busySeconds: number
  /** How many generations came into tables of months, or left them, meanwhile. */
  readonly generations: number
  /** What connections to Postgres waited for. */
  readonly waits: { readonly quiet: string; readonly busy: string }
  /** What the command said last in each of its stretches. */
  readonly said: readonly string[]
}

export interface Maintenance {
  /** Resolves to what it said when it has ended. */
  readonly ended: Promise<string>
  /** It may be stopped at any moment. */
  stop(): void
}

/** Before each stretch: what the one before has left is answered, and the command's process has started. */
const SETTLE_MS = 2000

interface Stretches {
  readonly name: string
  readonly rounds: number
  /** Of a stretch with nothing else. */
  readonly seconds: number
  /** Of one with the command, at most: it may end sooner. */
  readonly commandSeconds: number
}

/** @param begin starts the command of a round, told what those before have said; undefined: there is nothing left for it to do */
export async function compare(
  { name, rounds, seconds, commandSeconds }: Stretches,
  load: Pick<Load, 'during'>,
  client: pg.Client,
  begin: (round: number, said: readonly string[]) => Maintenance | undefined,
): Promise<Compared> {
  const done: { readonly quiet: Stretch; readonly busy: Stretch }[] = []
  const said: string[] = []
  let generations = 0
  const seen = { quiet: new Map<string, number>(), busy: new Map<string, number>() }
  const lasted = { quiet: 0, busy: 0 }
  const stretch = async (which: 'quiet' | 'busy', work: Promise<unknown>) => {
    const begun = performance.now()
    const [answered, waits] = await Promise.all([load.during(() => work), watchWaits(client, work)])
    lasted[which] += (performance.now() - begun) / 1000
    for (const [what, n] of waits) seen[which].set(what, (seen[which].get(what) ?? 0) + n)
    return answered
  }
  for (let round = 0; round < rounds; round++) {
    await delay(SETTLE_MS)
    const quiet = await stretch('quiet', delay(seconds * 1000))
    const maintenance = begin(round, said)
    if (!maintenance) break
    await Promise.race([maintenance.ended, delay(SETTLE_MS)])
    const before = await inAndOut(client)
    const busy = await stretch(
      'busy',
      Promise.race([maintenance.ended, delay(commandSeconds * 1000, undefined, { ref: false })]),
    )
    maintenance.stop()
    generations += (await inAndOut(client)) - before
    said.push((await maintenance.ended).trim().split('\n').at(-1) ?? '')
    done.push({ quiet, busy })
  }
  const waits = { quiet: waitsText(seen.quiet, lasted.quiet), busy: waitsText(seen.busy, lasted.busy) }
  return { name, rounds: done, busySeconds: lasted.busy, generations, waits, said }
}

async function inAndOut(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ n: number }>(
    `SELECT coalesce(sum(n_tup_ins + n_tup_del), 0)::float8 AS n FROM pg_stat_user_tables WHERE relname ~ '^generations_\\d{4}_'`,
  )
  return rows[0]?.n ?? 0
}

const SHARES = [0.5, 0.95, 0.99]
/** A command that ends at once leaves a stretch with too few answers to compare. */
const ANSWERS = 20

/** A row for each percentile of what was asked: milliseconds with nothing else and with the command, their ratio, and those of the rounds. */
export function comparedRows({ name, rounds }: Compared): string[][] {
  return ASKED.flatMap((asked) =>
    SHARES.map((share) => {
      const pooled = (which: 'quiet' | 'busy') =>
        percentile(
          rounds.flatMap((round) => round[which].waited[asked]),
          share,
        )
      const ratios = rounds
        .filter(({ busy }) => busy.waited[asked].length >= ANSWERS)
        .map(({ quiet, busy }) => percentile(busy.waited[asked], share) / percentile(quiet.waited[asked], share))
      const spread = ratios.length > 0 ? `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}` : ''
      const [quiet, busy] = [pooled('quiet'), pooled('busy')]
      return [
        `${name}: ${asked}, p${share * 100} ms`,
        ...[quiet.toFixed(2), busy.toFixed(2), (busy / quiet).toFixed(2), median(ratios).toFixed(2), spread],
      ]
    }),
  )
}

/** What was not answered as it should be, of both kinds of stretches. */
export function otherwiseOf({ rounds }: Compared): Map<string, number> {
  const all = new Map<string, number>()
  for (const { quiet, busy } of rounds)
    for (const { otherwise } of [quiet, busy])
      for (const [what, n] of otherwise) all.set(what, (all.get(what) ?? 0) + n)
  return all
}
