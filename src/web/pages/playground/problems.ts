import type { Account } from '../../../core/accounts/account.js'
import { type AppError, noActiveSubscription } from '../../../core/errors.js'
import { inWords } from '../../texts/refusals.js'
import type { Problem } from './playground-form.js'

/** Said before anybody writes a prompt in vain. */
export const planProblem = ({ subscription }: Account): Problem | undefined =>
  subscription?.status === 'active' ? undefined : problemOf(noActiveSubscription(subscription))

/** What a refusal means on this page. */
export function problemOf({ code, message, detail }: AppError): Problem {
  const field = detail.parameter
  switch (code) {
    case 'subscription_required':
      return { text: message, link: ['/account', 'See your plan.'] }
    case 'insufficient_credits':
      return { text: message, link: ['/account', 'See your credits.'] }
    case 'active_generation':
      return { text: 'One generation is running already. Press Add to Up next to have this drawn after it, or wait.' }
    case 'not_found':
    case 'model_unavailable':
      if (field === undefined) return { text: message }
      if (detail.plan !== undefined) return { text: message, link: ['/account', 'See your plan.'], field }
      return { text: 'This model is not on offer any more. Choose another one.', field }
    case 'unauthorized':
      return { text: 'Your account can no longer be used from here.', link: ['/sign-in', 'Sign in again.'] }
    default:
      return { text: inWords(message), field }
  }
}
