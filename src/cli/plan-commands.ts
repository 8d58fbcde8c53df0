import type { Command } from 'commander'
import type { Plan } from '../core/accounts/plan.js'
import { importPlans, type OperatorPlans, planPrices, requirePlan, retirePlan } from '../core/operator/plans.js'
import { requireDistinct } from '../http/shared/entries.js'
import { planOfEntry, toPlanEntry } from '../http/shared/plan-entry.js'
import { requirePricesOf } from '../process/required-prices.js'
import { REASON, type ReasonOption } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { readEntries } from './json-file.js'
import { facts, plural, table } from './output.js'

export function planCommands(program: Command, run: Runner): void {
  const plans = program.command('plans').description('what subscriptions grant and allow')
  plans
    .command('import')
    .description('add plans, or change those of the same name; what people get changes with their next period')
    .option(...REASON)
    .argument('<file>', 'a JSON array in the fields of "easel plans list --json"')
    .action(run(importFile))
  plans.command('list').description('list all plans, retired ones at the end').action(run(listPlans))
  plans.command('show <name>').description('show a plan').action(run(showPlan))
  plans
    .command('retire <name>')
    .description('sell a plan no more; who has it keeps it')
    .option(...REASON)
    .action(run(retire))
}

async function importFile({ acting, config, db, stores }: Operator, file: string, { reason }: ReasonOption) {
  const plans = await readEntries(file, 'plans', planOfEntry)
  requireDistinct('name', plans, ({ name }) => name)
  const unchecked = await requirePricesOf(config, db, planPrices(plans))
  await importPlans(acting(reason), plans)
  const hint = hintOn(await stores.plans.unlistedInUse())
  return { json: { imported: plans.length }, text: `Imported ${plural(plans.length, 'plan')}.${unchecked}`, hint }
}

async function listPlans({ stores }: Operator) {
  const plans = await stores.plans.list()
  return {
    json: plans.map(toPlanEntry),
    text: table(
      plans.map(({ subscribers, ...plan }) => ({ ...planFacts(plan), subscribers })),
      'No plans: import some with "easel plans import FILE.json".',
    ),
    hint: hintOn(await stores.plans.unlistedInUse()),
  }
}

const hintOn = (unlisted: Awaited<ReturnType<OperatorPlans['unlistedInUse']>>): string | undefined =>
  unlisted.length === 0
    ? undefined
    : `\nSubscriptions with these names grant nothing and allow everything, because no plan has them: ${unlisted
        .map(({ name, accounts, nearest }) => {
          const meant = nearest === undefined ? '' : `, near "${nearest}"`
          return `"${name}" (${plural(accounts, 'account')}${meant})`
        })
        .join(', ')}. "easel subscription set USERNAME --plan NAME" changes one.`

async function showPlan({ stores }: Operator, name: string) {
  const plan = await requirePlan(stores, name)
  const { subscribers, retiredAt } = plan
  return {
    json: { ...toPlanEntry(plan), retired_at: retiredAt, subscribers },
    text: facts({ ...planFacts(plan), subscribers }),
  }
}

async function retire({ acting }: Operator, name: string, { reason }: ReasonOption) {
  const retiredAt = await retirePlan(acting(reason), name)
  return { json: { name, retired_at: retiredAt }, text: `Plan "${name}" is sold no more; who has it keeps it.` }
}

const keptFor = (days: number | null) => (days === null ? null : days === 0 ? 'for ever' : plural(days, 'day'))

const planFacts = ({
  name,
  credits,
  period,
  carryOver,
  signUpCredits,
  models,
  rateLimit,
  retainPromptsDays,
  retainImagesDays,
  price,
  forSale,
  retiredAt,
}: Plan) => ({
  ...{ plan: name, credits, per: period },
  unspent: carryOver === null ? 'stays' : carryOver === 0 ? 'expires' : `${carryOver} stay`,
  'at sign-up': signUpCredits,
  models: models === null ? 'all' : models.join(' '),
  'rate limit': rateLimit,
  'prompts are kept': keptFor(retainPromptsDays),
  'images are kept': keptFor(retainImagesDays),
  price,
  'for sale': forSale,
  retired: retiredAt,
})
