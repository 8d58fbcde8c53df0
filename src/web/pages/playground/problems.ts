import type { Account } from '../../../core/accounts/account.js'
import { type AppError, noActiveSubscription } from '../../../core/errors.js'
import { inWords } from '../../texts/refusals.js'
import type { Texts } from '../../texts/texts.js'
import type { Problem } from './playground-form.js'

/** Said before anybody writes a prompt in vain. */
export const planProblem = ({ subscription }: Account, texts: Texts): Problem | undefined =>
  subscription?.status === 'active' ? undefined : problemOf(noActiveSubscription(subscription), texts)

/** What a refusal means on this page. */
export function problemOf({ code, message, detail }: AppError, texts: Texts): Problem {
  const words = texts.playground.problems
  const text = inWords(message, texts)
  const field = detail.parameter
  switch (code) {
    case 'subscription_required':
      return { text, link: ['/account', words.plan] }
    case 'insufficient_credits':
      return { text, link: ['/account', words.credits] }
    case 'active_generation':
      return { text: words.running }
    case 'not_found':
    case 'model_unavailable':
      if (field === undefined) return { text }
      if (detail.plan !== undefined) return { text, link: ['/account', words.plan], field }
      return { text: words.modelGone, field }
    case 'unauthorized':
      return { text: words.account, link: ['/sign-in', words.signIn] }
    default:
      return { text, field }
  }
}
