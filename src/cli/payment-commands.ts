import type { Command } from 'commander'
import { PROBLEMS } from '../core/billing/problems.js'
import { dismissPayment, matchCustomer, retryPayments } from '../core/operator/payments.js'
import { REASON, type ReasonOption } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { jsonOf, plural, table } from './output.js'

/** More are for the provider's own pages. */
const LISTED = 500

export function paymentCommands(program: Command, run: Runner): void {
  const payments = program.command('payments').description('what was paid, and what of it needs an operator')
  payments
    .command('list')
    .description('list payments, newest first')
    .option('--unmatched', 'only what could not be matched to an account or a plan, or not be asked for; oldest first')
    .option('--faults', 'only what went wrong with the payment provider in the last 30 days, the latest first')
    .action(run(listPayments))
  payments
    .command('match <customer> <username>')
    .description('say whose customer of the payment provider it is; what was paid is applied within seconds')
    .option(...REASON)
    .action(run(match))
  payments
    .command('retry [id]')
    .description('ask the payment provider again at once, for one of "easel payments list --unmatched" or for all')
    .option(...REASON)
    .action(run(retry))
  payments
    .command('dismiss <id>')
    .description('take one from the list of what is unmatched: nothing more is to be done')
    .option(...REASON)
    .action(run(dismiss))
}

interface Listed {
  readonly unmatched?: boolean
  readonly faults?: boolean
}

async function listPayments({ stores }: Operator, { unmatched = false, faults = false }: Listed) {
  if (faults) {
    const rows = await stores.payments.faults(LISTED)
    return {
      json: rows.map((row) => jsonOf(row)),
      text: table(
        rows.map(({ sentence, times, lastAt: last }) => ({ last, times, 'what to do': sentence })),
        'Nothing went wrong in the last 30 days.',
      ),
    }
  }
  if (unmatched) {
    const rows = await stores.payments.unmatched(LISTED)
    return {
      json: rows.map((row) => jsonOf({ ...row, advice: row.problem && PROBLEMS[row.problem] })),
      text: table(
        rows.map(({ kind, id, customer, email, createdAt: since, problem, failure, ...row }) => ({
          ...{ kind, id, customer, email, since },
          amount: amountOf(row),
          ...{ price: row.price, 'what to do': problem ? PROBLEMS[problem] : `Tried again by itself: ${failure}` },
        })),
        'Everything that was paid is matched.',
      ),
    }
  }
  const rows = await stores.payments.list(LISTED)
  return {
    json: rows.map((row) => jsonOf(row)),
    text: table(
      rows.map(({ id, username: user, paidAt: paid, pack, subscription, credits, takenBack, ...row }) => ({
        ...{ id, user, paid, amount: amountOf(row) },
        'given back': row.returned > 0 ? amountOf({ ...row, amount: row.returned }) : null,
        for: pack ?? subscription ?? 'nothing of Easel',
        ...{ credits, 'taken back': takenBack },
      })),
      'No payments yet.',
    ),
  }
}

const amountOf = ({ amount, currency }: { readonly amount: number | null; readonly currency: string | null }) =>
  amount === null ? null : `${amount} ${currency} (smallest unit)`

async function match({ acting }: Operator, customer: string, name: string, { reason }: ReasonOption) {
  const username = await matchCustomer(acting(reason), customer, name)
  return { json: { customer, username }, text: `Customer ${customer} is ${username}.` }
}

async function retry({ acting }: Operator, id: string | undefined, { reason }: ReasonOption) {
  const due = await retryPayments(acting(reason), id)
  return { json: { due }, text: `${plural(due, 'payment')} will be asked for at once.` }
}

async function dismiss({ acting }: Operator, id: string, { reason }: ReasonOption) {
  await dismissPayment(acting(reason), id)
  return { json: { id }, text: `${id} is no longer in the list.` }
}
