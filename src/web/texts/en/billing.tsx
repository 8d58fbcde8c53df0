import type { ComponentChildren } from 'preact'
import { formats, words } from './words.js'

const { number } = formats
const { credits, modelVersions } = words

type Period = 'month' | 'year'

/** Plans, packs of credits, and what the end of a period brings. */
export const billing = {
  prices: 'Prices',
  lead: 'An image costs one credit or more, as its model says.',
  plans: 'Plans',
  noPlans: 'No plan is for sale now.',
  moreCredits: 'More credits',
  unknownPrices: 'What things cost cannot be shown right now. Load this page again in a minute.',
  choosePlan: 'Choose a plan',
  createAccount: 'Create an account',
  signIn: 'Sign in',
  offer: {
    per: (period: Period): string => `a ${period}`,
    creditsPer: (count: number, period: Period): string => `${credits(count)} a ${period}`,
    /** @param carryOver how many credits stay at a period's end; null: all of them */
    left: (carryOver: number | null, period: Period): string =>
      carryOver === null
        ? 'What you do not spend stays'
        : carryOver === 0
          ? `What is left at the end of the ${period} expires`
          : `Of what is left, ${number(carryOver)} stay`,
    atStart: (count: number): string => `${credits(count)} more at the start, once`,
    /** @param count null: all of them */
    models: (count: number | null): string => (count === null ? 'All models' : modelVersions(count)),
    once: 'once',
    plusTax: 'plus tax',
    neverExpire: 'They never expire',
  },
  outlook: {
    expires: (count: number, date: ComponentChildren): ComponentChildren => (
      <>
        {number(count)} of them {count === 1 ? 'expires' : 'expire'} on {date}, and {count === 1 ? 'is' : 'are'} spent
        first.
      </>
    ),
    /** @param follows how many credits come then */
    next: (date: ComponentChildren, follows: number, carryOver: number | null, period: Period): ComponentChildren => (
      <>
        On {date} {follows === 0 ? 'no more credits come' : `you get ${credits(follows)}`};{' '}
        {carryOver === null
          ? `what is left of this ${period}’s stays`
          : carryOver === 0
            ? `what is left of this ${period}’s expires`
            : `of what is left of your plan’s credits, ${number(carryOver)} stay`}
        .
      </>
    ),
  },
  own: {
    title: 'Your subscription',
    manage: 'Change or cancel, cards, invoices',
    invoices: 'Invoices and cards',
    choose: 'Choose',
    buy: 'Buy',
    needPlan: 'Images need an active plan; credits that you buy wait for one.',
    isLate:
      'Your payment is not confirmed yet. Some banks take days: what you bought comes by itself when the money is there.',
    isNew: 'Thank you. Your payment is being confirmed, which takes a few seconds; this page loads itself again.',
    unknownPlan: 'A plan that is not known here',
    paused: 'paused. Nothing is collected, and no credits come.',
    underway: 'your payment is on its way, which may take your bank days. Credits come when it is there.',
    failed: 'the last payment failed. Give another card or pay the open invoice, else the plan ends on the date above.',
    failedAndOver:
      'the last payment failed, and the plan has ended. Give another card or pay the open invoice: once it is paid, the plan goes on.',
    changes: (plan: ComponentChildren, date: ComponentChildren): ComponentChildren => (
      <>
        changes to {plan} on {date}.
      </>
    ),
    ends: (date: ComponentChildren): ComponentChildren => <>ends on {date}.</>,
    renews: (date: ComponentChildren): ComponentChildren => <>paid until {date}, then it renews.</>,
  },
}
