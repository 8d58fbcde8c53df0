import type { Command } from 'commander'
import type { Plan } from '../core/accounts/plan.js'
import { planStore } from '../db/accounts/plans.js'
import { planOfEntry, toPlanEntry } from '../process/plan-entry.js'
import { requirePricesOf } from '../process/required-prices.js'
import { REASON, type ReasonOption } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { readEntries, requireDistinct } from './json-file.js'
import { OperatorError } from './operator-error.js'
import { facts, plural, table } from './output.js'

export function planCommands(program: Command, run: Runner): void {
  const plans = program.command('plans').description('what subscriptions grant and allow')
  plans
    .command('import')
    .description('add plans, or change those of the same name; what people get changes with their next period')
    .option(...REASON)
    .argument('<file>', 'a JSON array in the fields of "easel plans list --json"')
    .action(run(importPlans))
  plans.command('list').description('list all plans, retired ones at the end').action(run(listPlans))
  plans.command('show <name>').description('show a plan').action(run(showPlan))
  plans
    .command('retire <name>')
    .description('sell a plan no more; who has it keeps it')
    .option(...REASON)
    .action(run(retirePlan))
}

async function importPlans({ config, recorded }: Operator, file: string, { reason }: ReasonOption) {
  const plans = await readEntries(file, 'plans', planOfEntry)
  requireDistinct('name', plans, ({ name }) => name)
  const sold = plans.filter(({ retiredAt }) => retiredAt === null)
  await requirePricesOf(
    config,
    sold.map(({ name, price, period: every }) => ({ name, price, every })),
  )
  const refused = await recorded(
    reason,
    (db) => planStore(db).import(plans),
    (why) => (why ? undefined : [`imported ${plural(plans.length, 'plan')}`, '']),
  )
  if (refused && 'model' in refused)
    throw new OperatorError(
      `Plan "${refused.plan}" names model version ${refused.model}, which there is not: "easel models list" shows them.`,
    )
  if (refused)
    throw new OperatorError(
      `Plans "${refused.other}" and "${refused.plan}" have the same price, ${refused.price}: make one for each at the payment provider.`,
    )
  return { json: { imported: plans.length }, text: `Imported ${plural(plans.length, 'plan')}.` }
}

async function listPlans({ db }: Operator) {
  const plans = await planStore(db).list()
  return {
    json: plans.map(toPlanEntry),
    text: table(
      plans.map(({ subscribers, ...plan }) => ({ ...planFacts(plan), subscribers })),
      'No plans: import some with "easel plans import FILE.json".',
    ),
  }
}

async function showPlan({ db }: Operator, name: string) {
  const plan = (await planStore(db).list()).find((it) => it.name === name)
  if (!plan) throw noSuchPlan(name)
  const { subscribers, retiredAt } = plan
  return {
    json: { ...toPlanEntry(plan), retired_at: retiredAt, subscribers },
    text: facts({ ...planFacts(plan), subscribers }),
  }
}

async function retirePlan({ recorded }: Operator, name: string, { reason }: ReasonOption) {
  const retiredAt = await recorded(
    reason,
    (db) => planStore(db).retire(name),
    (at) => at && ['retired plan', name],
  )
  if (!retiredAt) throw noSuchPlan(name)
  return { json: { name, retired_at: retiredAt }, text: `Plan "${name}" is sold no more; who has it keeps it.` }
}

const planFacts = ({
  name,
  credits,
  period,
  carryOver,
  signUpCredits,
  models,
  rateLimit,
  price,
  forSale,
  retiredAt,
}: Plan) => ({
  ...{ plan: name, credits, per: period },
  unspent: carryOver === null ? 'stays' : carryOver === 0 ? 'expires' : `${carryOver} stay`,
  'at sign-up': signUpCredits,
  models: models === null ? 'all' : models.join(' '),
  'rate limit': rateLimit,
  price,
  'for sale': forSale,
  retired: retiredAt,
})

const noSuchPlan = (name: string) => new OperatorError(`No plan "${name}": "easel plans list" shows all.`)
