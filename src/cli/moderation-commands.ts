/** Prompts that moderation refused. */
import type { Command } from 'commander'
import { requireAccount } from '../core/operator/accounts.js'
import { markWrong } from '../core/operator/refused-prompts.js'
import { beginningOf } from '../lib/text.js'
import { wholeNumber, words } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { jsonOf, table } from './output.js'

const DEFAULT_LIMIT = 50
/** Of a prompt, in the table. */
const SHOWN = 80

export function moderationCommands(program: Command, run: Runner): void {
  const moderation = program.command('moderation').description('prompts that were refused; kept for 90 days')
  moderation
    .command('list')
    .description('list refused prompts, newest first')
    .option('--user <username>', 'of this user only')
    .option('--category <name>', 'of this category only', words('--category', 200))
    .option('--limit <n>', `how many, ${DEFAULT_LIMIT} unless given`, wholeNumber('--limit', 1, 10_000))
    .action(run(listRefusals))
  moderation
    .command('repeated')
    .description('count refusals about minors of the last 30 days, for accounts with more than one')
    .option('--limit <n>', `how many accounts, ${DEFAULT_LIMIT} unless given`, wholeNumber('--limit', 1, 10_000))
    .action(run(listRepeated))
  moderation
    .command('wrong')
    .description('mark a refusal as wrong, so that the rules can be corrected')
    .argument('<id>', 'its ID from "easel moderation list"', wholeNumber('ID', 1, Number.MAX_SAFE_INTEGER))
    .action(run(mark))
}

type ListOptions = { readonly user?: string; readonly category?: string; readonly limit?: number }

async function listRefusals({ stores }: Operator, { user, category, limit = DEFAULT_LIMIT }: ListOptions) {
  const accountId = user === undefined ? undefined : (await requireAccount(stores, user, { orDeleted: true })).id
  const { items } = await stores.refusedPromptLog.list({ category, accountId }, { limit, after: undefined })
  return {
    json: items.map((it) => jsonOf(it)),
    text: table(
      items.map(({ id, at: time, username, parameter, category, matched, prompt, wrongAt: wrong }) => ({
        ...{ id, time, user: username, parameter, category, matched: matched.join(', '), wrong },
        prompt: beginningOf(prompt, SHOWN),
      })),
      'No such prompts.',
    ),
  }
}

async function listRepeated({ stores }: Operator, { limit = DEFAULT_LIMIT }: { readonly limit?: number }) {
  const accounts = await stores.refusedPromptLog.repeated(limit)
  return {
    json: accounts.map((it) => jsonOf(it)),
    text: table(
      accounts.map(({ username: user, count, firstAt: first, lastAt: last }) => ({ user, count, first, last })),
      'No account had two such refusals in the last 30 days.',
    ),
  }
}

async function mark({ acting }: Operator, id: number) {
  await markWrong(acting(undefined), id)
  return { json: { id, wrong: true }, text: `The refusal of prompt ${id} is marked as wrong.` }
}
