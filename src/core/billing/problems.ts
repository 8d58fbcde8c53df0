import type { Problem } from './ports.js'

/** What operators read, and what they can do. */
export const PROBLEMS: Readonly<Record<Problem, string>> = {
  no_account: 'No account is known for this customer: match it with one, or give the money back.',
  account_deleted: 'The account of this customer was deleted: give the money back.',
  no_plan: 'No plan has this price: import one that names it, or cancel the subscription.',
  superfluous:
    'The account has another paid subscription that lasts longer: cancel one of them, and give its money back.',
  paid_late:
    'It was paid after it had ended, and brought nothing for that: give the money back, or grant credits; then dismiss it.',
  not_asked_for: 'Easel did not ask for this payment: grant credits for it, or give the money back; then dismiss it.',
  gone: 'The provider has nothing of this ID: check that the keys belong to the account, or the sandbox, that it is of. What was paid is asked for again each day, anything else when you ask.',
}
