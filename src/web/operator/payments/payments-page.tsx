import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import type { AskedKind } from '../../../core/billing/ports.js'
import { PROBLEMS } from '../../../core/billing/problems.js'
import type { Acting } from '../../../core/operator/acting.js'
import {
  dismissPayment,
  type ListedFault,
  type ListedPayment,
  matchCustomer,
  type PaymentStores,
  retryPayments,
  type UnmatchedPayment,
} from '../../../core/operator/payments.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import { Act, actingOf, line, readForm, reason } from '../../parts/operator-forms.js'
import { Field, Notices } from '../../parts/page-parts.js'
import { counted, Moment, money, number } from '../../parts/text.js'
import { refusalMessage } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { Table, UserLink } from '../parts/operator-parts.js'

interface PaymentsPageProps {
  readonly signedIn: SignedIn
  readonly payments: readonly ListedPayment[]
  readonly unmatched: readonly UnmatchedPayment[]
  readonly faults: readonly ListedFault[]
  readonly done?: string | undefined
  readonly problem?: string | undefined
}

const PATH = '/operator/payments'
const LISTED = 100

const PaymentsPage = ({ signedIn, payments, unmatched, faults, done, problem }: PaymentsPageProps) => (
  <OperatorLayout
    title="Payments"
    signedIn={signedIn}
    path="/operator/plans"
    aside={<a href="/operator/plans">Plans</a>}
  >
    <Notices done={done} problem={problem} />
    <Table
      name="Unmatched"
      columns={[['What'], ['Customer'], ['Since'], ['What to do'], ['Change', 'act']]}
      empty="Everything that was paid is matched."
    >
      {unmatched.map((it, n) => (
        <UnmatchedRow it={it} n={n} />
      ))}
    </Table>
    {faults.length > 0 && (
      <Table
        name="Faults of the last 30 days"
        columns={[['What to do'], ['Last'], ['Times', 'number']]}
        empty="Nothing went wrong."
      >
        {faults.map(({ sentence, lastAt, times }) => (
          <tr>
            <td class="what">
              <bdi>{sentence}</bdi>
            </td>
            <td class="when">
              <Moment at={lastAt} />
            </td>
            <td class="number">{number(times)}</td>
          </tr>
        ))}
      </Table>
    )}
    <Table
      name="Payments"
      columns={[['Payment'], ['User'], ['Paid'], ['Amount', 'number'], ['Credits', 'number']]}
      empty="No payments yet."
    >
      {payments.map((it) => (
        <PaymentRow it={it} />
      ))}
    </Table>
  </OperatorLayout>
)

const KINDS: Readonly<Record<AskedKind, string>> = {
  subscription: 'Subscription',
  payment: 'Payment',
  cancellation: 'Cancellation for',
}

const UnmatchedRow = ({ it, n }: { it: UnmatchedPayment; n: number }) => (
  <tr>
    <td>
      {KINDS[it.kind]}
      <br />
      <code class="nowrap">{it.id}</code>
      {it.amount !== null && <div class="small quiet">{amountOf(it.amount, it.currency)}</div>}
      {it.price !== null && (
        <div class="small quiet">
          price <code>{it.price}</code>
        </div>
      )}
    </td>
    <td>
      {it.customer && <code>{it.customer}</code>}
      {it.email && (
        <div class="small nowrap">
          <bdi>{it.email}</bdi>
        </div>
      )}
    </td>
    <td class="when">
      <Moment at={it.failingSince ?? it.createdAt} />
    </td>
    <td class="what">
      {it.problem ? (
        PROBLEMS[it.problem]
      ) : (
        <>
          Tried again by itself, {counted(it.failures, 'time')} so far: <bdi>{it.failure}</bdi>
        </>
      )}
    </td>
    <td>
      <div class="acts">
        {it.problem === 'no_account' && it.customer && (
          <Act id={`why-match-${n}`} action={`${PATH}/match`} name="Match" button="Match customer" of={it.id}>
            <input type="hidden" name="customer" value={it.customer} />
            <Field id={`username-${n}`} name="username" label="Username" maxlength={64} required autocomplete="off" />
          </Act>
        )}
        <Act id={`why-retry-${n}`} action={`${PATH}/retry`} name="Ask again" button="Ask again" of={it.id}>
          <input type="hidden" name="id" value={it.id} />
        </Act>
        <Act id={`why-dismiss-${n}`} action={`${PATH}/dismiss`} name="Dismiss" button="Dismiss" of={it.id}>
          <p class="small">Nothing more is to be done: it leaves this list.</p>
          <input type="hidden" name="id" value={it.id} />
        </Act>
      </div>
    </td>
  </tr>
)

const PaymentRow = ({ it }: { it: ListedPayment }) => (
  <tr>
    <td>
      <code class="nowrap">{it.id}</code>
      <div class="small quiet">
        <bdi>{it.pack ?? it.subscription ?? 'Nothing that Easel asked for'}</bdi>
      </div>
    </td>
    <td>{it.username && <UserLink username={it.username} />}</td>
    <td class="when">{it.paidAt ? <Moment at={it.paidAt} /> : <span class="quiet">not yet</span>}</td>
    <td class="number nowrap">
      {amountOf(it.amount, it.currency)}
      {it.returned > 0 && <div class="small quiet">{amountOf(it.returned, it.currency)} given back</div>}
    </td>
    <td class="number">
      {number(it.credits)}
      {it.takenBack > 0 && <div class="small quiet">{number(it.takenBack)} taken back</div>}
    </td>
  </tr>
)

function amountOf(amount: number, currency: string | null): string {
  if (!currency || !/^[a-z]{3}$/i.test(currency)) return number(amount)
  return money({ amount, currency })
}

const DONE = {
  matched: 'The customer is matched: what was paid is applied within seconds.',
  retried: 'The provider is asked again at once.',
  dismissed: 'It is no longer in the list.',
} as const

const query = z.object({ done: z.enum(['matched', 'retried', 'dismissed']).optional().catch(undefined) })
const matching = z.object({
  reason,
  customer: line(255, 'There is no such customer: choose one of the list.'),
  username: line(64, 'Name the user.'),
})
const NOT_LISTED = 'This is not unmatched any more: look at the list.'
const choice = z.object({ reason, id: line(255, NOT_LISTED) })

/** What was paid, and what of it could not be matched. */
export function paymentRoutes(app: App, { ports }: WebsiteOptions): void {
  const { payments } = ports

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    said: Partial<Pick<PaymentsPageProps, 'done' | 'problem'>>,
  ) => {
    const [listed, unmatched, faults] = await Promise.all([
      payments.list(LISTED),
      payments.unmatched(LISTED),
      payments.faults(LISTED),
    ])
    return sendPage(
      reply,
      <PaymentsPage signedIn={sessionOf(request)} payments={listed} {...{ unmatched, faults }} {...said} />,
    )
  }

  app.get(PATH, { schema: { querystring: query } }, (request, reply) => {
    const { done } = request.query
    return show(request, reply, { done: done && DONE[done] })
  })

  app.post(`${PATH}/match`, async (request, reply) => {
    const { form, problem } = readForm(matching, request.body)
    if (!form) return show(request, reply.code(400), { problem })
    try {
      await matchCustomer(actingOf(ports, request, form.reason), form.customer, form.username)
    } catch (error) {
      return show(request, reply, { problem: refusalMessage(error, reply) })
    }
    return reply.redirect(`${PATH}?done=matched`, 303)
  })

  const change = (
    name: 'retry' | 'dismiss',
    done: keyof typeof DONE,
    act: (acting: Acting<PaymentStores>, id: string) => Promise<unknown>,
  ) =>
    app.post(`${PATH}/${name}`, async (request, reply) => {
      const { form, problem } = readForm(choice, request.body)
      if (!form) return show(request, reply.code(400), { problem })
      try {
        await act(actingOf(ports, request, form.reason), form.id)
      } catch (error) {
        return show(request, reply, { problem: refusalMessage(error, reply) })
      }
      return reply.redirect(`${PATH}?done=${done}`, 303)
    })
  change('retry', 'retried', retryPayments)
  change('dismiss', 'dismissed', dismissPayment)
}
