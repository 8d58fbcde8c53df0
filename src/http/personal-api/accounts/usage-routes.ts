import Negotiator from 'negotiator'
import { z } from 'zod'
import {
  MAX_SPAN_DAYS,
  requireSpan,
  totalOf,
  USAGE_GROUPS,
  type Usage,
  type UsageCounts,
  type UsageGroup,
  type UsageStore,
  usageBy,
} from '../../../core/accounts/usage.js'
import { csvOf, type Separator } from '../../../lib/csv.js'
import { camelCase } from '../../../lib/names.js'
import { personalRefusals } from '../../shared/error-bodies.js'
import type { App } from '../../shared/fastify-app.js'
import * as field from '../../shared/fields.js'
import { EXAMPLE, viewOf } from '../../shared/responses.js'

const FORMATS = ['json', 'csv'] as const
const TYPES = { json: 'application/json', csv: 'text/csv' } as const

const counts = {
  generations: z.int().min(0).describe('Submitted that day, whatever became of them'),
  images: z.int().min(0).describe('Of those that have succeeded'),
  credits: z.int().min(0).describe('Charged, less what was given back'),
}

const usage = z.object({
  day: z.iso.date().optional().describe('Of the submit, in UTC'),
  key_id: z.string().optional(),
  key_name: z.string().optional(),
  model_version_id: z.int().optional(),
  model_name: z.string().optional(),
  ...counts,
})

const COUNTED = { generations: 12, images: 20, credits: 20 }
const EXAMPLE_USAGE = {
  ...{ from: '2026-10-22', to: '2026-11-20' },
  usage: [{ day: '2026-11-20', key_id: 'ce1b8a35-…', key_name: 'shop', ...EXAMPLE.model, ...COUNTED }],
  total: COUNTED,
}

const usageReport = z
  .object({
    from: z.iso.date(),
    to: z.iso.date(),
    usage: z.array(usage).describe('Oldest first; only where there was something'),
    total: z.object(counts),
  })
  .meta({ id: 'UsageReport', examples: [EXAMPLE_USAGE] })

const usageQuery = {
  from: field.queryDay('from').optional().describe('The first day, in UTC; 29 days before `to` if it is left out'),
  to: field.queryDay('to').optional().describe('The last day; today if it is left out'),
  by: field
    .choice('by', USAGE_GROUPS)
    .optional()
    .describe('Adds up for each of these; without it, each entry is of one day, key and model version'),
}

const getUsageSchema = {
  operationId: 'getUsage',
  tags: ['Account'],
  summary: 'What you have made, and what it cost',
  description: `Of ${MAX_SPAN_DAYS} days at most. As CSV with \`format=csv\` or \`Accept: text/csv\`.`,
  querystring: z.strictObject({ ...usageQuery, format: field.choice('format', FORMATS).optional() }),
  response: {
    200: {
      description: 'Done',
      content: { 'application/json': { schema: usageReport }, 'text/csv': { schema: z.string() } },
    },
    ...personalRefusals(400),
  },
}

const COLUMNS = {
  day: ['day'],
  key: ['key_id', 'key_name'],
  model: ['model_version_id', 'model_name'],
} as const

type UsageRow = Partial<Omit<Usage, keyof UsageCounts>> & UsageCounts

const rowsOf = (rows: readonly Usage[], by: UsageGroup | undefined): readonly UsageRow[] =>
  by === undefined ? rows : usageBy(rows, by)

/** As a table with a line for each entry. */
export function usageCsv(rows: readonly Usage[], by: UsageGroup | undefined, separator?: Separator): string {
  const columns = [
    ...(by === undefined ? USAGE_GROUPS : [by]).flatMap((group) => COLUMNS[group]),
    ...['generations', 'images', 'credits'],
  ]
  const fields = columns.map(camelCase) as (keyof UsageRow)[]
  const cells = (row: UsageRow) => fields.map((name) => row[name] ?? null)
  return csvOf(columns, rowsOf(rows, by).map(cells), separator)
}

/** What the account has used, as a report for programs and for spreadsheets. */
export function usageRoutes(app: App, store: UsageStore): void {
  app.get('/usage', { schema: getUsageSchema }, async ({ caller, query, headers }, reply) => {
    const { by, format = preferred(headers.accept), ...asked } = query
    const span = requireSpan(asked)
    const rows = await store.of(caller.account.id, span)
    reply.headers({ 'cache-control': 'no-store', vary: 'accept' })
    if (format === 'csv') return reply.type('text/csv; charset=utf-8').send(usageCsv(rows, by))
    const entries = rowsOf(rows, by).map((row) => viewOf(usage, row as Usage))
    return reply.send({ ...span, usage: entries, total: totalOf(rows) })
  })
}

const preferred = (accept: string | undefined) =>
  new Negotiator({ headers: { accept } }).mediaType([TYPES.json, TYPES.csv]) === TYPES.csv ? 'csv' : 'json'
