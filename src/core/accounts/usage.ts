/** What an account has made in a time, and what it cost. */
import { invalidParameter } from '../errors.js'
import { SPENDING_DAYS } from './ledger.js'

/** Days in UTC, such as `2026-11-20`; both belong to it. */
export interface DaySpan {
  readonly from: string
  readonly to: string
}

export const MAX_SPAN_DAYS = 366
const DAY_MS = 86_400_000

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)

/** Ends today and has SPENDING_DAYS unless it is said otherwise. @throws invalid_request */
export function requireSpan({ from, to }: { readonly [End in keyof DaySpan]?: string | undefined }): DaySpan {
  const last = to === undefined ? Date.now() : Date.parse(to)
  const first = from === undefined ? last - (SPENDING_DAYS - 1) * DAY_MS : Date.parse(from)
  const span = { from: dayOf(first), to: dayOf(last) }
  const days = daysOf(span).length
  if (days === 0) throw invalidParameter('from', 'from must not be after the last day.')
  if (days > MAX_SPAN_DAYS)
    throw invalidParameter(
      'from',
      `from must be within ${MAX_SPAN_DAYS} days with the last day: choose a shorter time.`,
    )
  return span
}

/** Each day of it, no more than one above MAX_SPAN_DAYS; none where it ends before it begins. */
export function daysOf({ from, to }: DaySpan): string[] {
  const days = Math.min((Date.parse(to) - Date.parse(from)) / DAY_MS, MAX_SPAN_DAYS) + 1
  return Array.from({ length: Math.max(0, days) }, (_, n) => dayOf(Date.parse(from) + n * DAY_MS))
}

export interface UsageCounts {
  /** Submitted that day, whatever became of them. */
  readonly generations: number
  /** Those of generations that have succeeded. */
  readonly images: number
  /** Charged, less what was given back. */
  readonly credits: number
}

/** The generations of one day, key and model version. */
export interface Usage extends UsageCounts {
  /** By the submit, in UTC. */
  readonly day: string
  readonly keyId: string
  readonly keyName: string
  /** Empty for the website's own key. */
  readonly keyHint: string
  readonly modelVersionId: number
  readonly modelName: string
}

export interface UsageStore {
  /** Oldest first. */
  of(accountId: string, span: DaySpan): Promise<Usage[]>
}

export const USAGE_GROUPS = ['day', 'key', 'model'] as const
export type UsageGroup = (typeof USAGE_GROUPS)[number]

const NAMES = {
  day: ['day'],
  key: ['keyId', 'keyName', 'keyHint'],
  model: ['modelVersionId', 'modelName'],
} as const

export type UsageOf<Group extends UsageGroup> = Pick<Usage, (typeof NAMES)[Group][number]> & UsageCounts

/** Added up for each day, key or model version, in the order in which they come first. */
export function usageBy<Group extends UsageGroup>(rows: readonly Usage[], group: Group): UsageOf<Group>[] {
  const names = NAMES[group]
  const sums = new Map<unknown, UsageOf<Group>>()
  for (const row of rows) {
    const id = row[names[0]]
    const before = sums.get(id)
    const named = before ?? Object.fromEntries(names.map((name) => [name, row[name]]))
    sums.set(id, { ...named, ...added(before ?? NOTHING, row) } as UsageOf<Group>)
  }
  return [...sums.values()]
}

const NOTHING: UsageCounts = { generations: 0, images: 0, credits: 0 }
const added = (one: UsageCounts, other: UsageCounts): UsageCounts => ({
  generations: one.generations + other.generations,
  images: one.images + other.images,
  credits: one.credits + other.credits,
})

export const totalOf = (rows: readonly UsageCounts[]): UsageCounts => rows.reduce(added, NOTHING)
