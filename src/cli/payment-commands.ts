import type { Command } from 'commander'
import { PROBLEMS } from '../core/billing/problems.js'
import { operatorPayments } from '../db/operator/payments.js'
import { REASON, type ReasonOption, requireUser } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { OperatorError } from './operator-error.js'
import { jsonOf, plural, table } from './output.js'

/** More are for the provider's own pages. */
const LISTED = 500

export function paymentCommands(program: Command, run: Runner): void {
  const payments = program.command('payments').description('what was paid, and what of it needs an operator')
  payments
    .command('list')
    .description('list payments, newest first')
    .option('--unmatched', 'only what could not be matched to an account or a plan, or not be asked for; oldest first')
    .action(run(listPayments))
  payments
    .command('match <customer> <username>')
    .description('say whose customer of the payment provider it is; what was paid is applied within seconds')
    .option(...REASON)
    .action(run(matchCustomer))
  payments
    .command('retry [id]')
    .description('ask the payment provider again at once, for one of "easel payments list --unmatched" or for all')
    .option(...REASON)
    .action(run(retryPayments))
  payments
    .command('dismiss <id>')
    .description('take one from the list of what is unmatched: nothing more is to be done')
    .option(...REASON)
    .action(run(dismissPayment))
}

async function listPayments({ db }: Operator, { unmatched = false }: { readonly unmatched?: boolean }) {
  if (unmatched) {
    const rows = await operatorPayments(db).unmatched(LISTED)
    return {
      json: rows.map((row) => jsonOf({ ...row, advice: row.problem && PROBLEMS[row.problem] })),
      text: table(
        rows.map(({ kind, id, customer, email, createdAt: since, problem, failure, ...row }) => ({
          ...{ kind, id, customer, email, since },
          amount: amountOf(row),
          ...{ price: row.price, 'what to do': problem ? PROBLEMS[problem] : `Not asked for yet: ${failure}` },
        })),
        'Everything that was paid is matched.',
      ),
    }
  }
  const rows = await operatorPayments(db).list(LISTED)
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

async function matchCustomer({ db, recorded }: Operator, customer: string, name: string, { reason }: ReasonOption) {
  const { id, username } = await requireUser(db, name)
  const outcome = await recorded(
    reason,
    (on) => operatorPayments(on).match(customer, id),
    (it) => (it === 'matched' ? [`matched customer ${customer}`, username] : undefined),
  )
  if (outcome === 'unknown')
    throw new OperatorError(
      `No customer "${customer}": "easel payments list --unmatched" shows those without an account.`,
    )
  if (outcome === 'matched before')
    throw new OperatorError(`Customer "${customer}" has an account already, which it keeps.`)
  return { json: { customer, username }, text: `Customer ${customer} is ${username}.` }
}

async function retryPayments({ recorded }: Operator, id: string | undefined, { reason }: ReasonOption) {
  const due = await recorded(
    reason,
    (db) => operatorPayments(db).retry(id),
    (count) => (count > 0 ? ['asked for payments again', id ?? ''] : undefined),
  )
  if (due === 0 && id !== undefined) throw notListed(id)
  return { json: { due }, text: `${plural(due, 'payment')} will be asked for at once.` }
}

async function dismissPayment({ recorded }: Operator, id: string, { reason }: ReasonOption) {
  const isDismissed = await recorded(
    reason,
    (db) => operatorPayments(db).dismiss(id),
    (done) => (done ? ['dismissed payment', id] : undefined),
  )
  if (!isDismissed) throw notListed(id)
  return { json: { id }, text: `${id} is no longer in the list.` }
}

const notListed = (id: string) =>
  new OperatorError(`"${id}" is not unmatched: "easel payments list --unmatched" shows what is.`)
