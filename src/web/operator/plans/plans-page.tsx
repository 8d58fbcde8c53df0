import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import type { ModelVersion } from '../../../core/catalog/model-version.js'
import { invalidParameter } from '../../../core/errors.js'
import {
  importPlans,
  type ListedPlan,
  noSuchPlan,
  type OperatorPlans,
  planPrices,
  retirePlan,
} from '../../../core/operator/plans.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { planOfEntry } from '../../../http/shared/plan-entry.js'
import { sendPage } from '../../parts/layout.js'
import { Act, actingOf, inForm, line, readForm, reason } from '../../parts/operator-forms.js'
import { Notices } from '../../parts/page-parts.js'
import { address, counted, number } from '../../parts/text.js'
import { refusalMessage } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { Table } from '../parts/operator-parts.js'
import { entryOf, formBody, formOf, PlanFields, type PlanForm } from './plan-form.js'

const PATH = '/operator/plans'

interface PlansPageProps {
  readonly signedIn: SignedIn
  readonly isSelling: boolean
  readonly plans: readonly ListedPlan[]
  readonly models: readonly ModelVersion[]
  /** The plan that the form changes; undefined: it adds one. */
  readonly existing: ListedPlan | undefined
  /** Names that subscriptions have and no plan has. */
  readonly unlisted: Awaited<ReturnType<OperatorPlans['unlistedInUse']>>
  readonly form: PlanForm
  readonly done?: string | undefined
  readonly problem?: string | undefined
}

const PlansPage = ({ signedIn, isSelling, plans, unlisted, done, problem, ...props }: PlansPageProps) => (
  <OperatorLayout
    title="Plans"
    signedIn={signedIn}
    path={PATH}
    aside={isSelling && <a href="/operator/payments">Payments</a>}
  >
    <Notices done={done} problem={problem} />
    <Table
      name="Plans"
      columns={[
        ['Plan'],
        ['Credits', 'number'],
        ['Left at the end'],
        ['Models'],
        ['Rate limit', 'number'],
        ['Subscribers', 'number'],
        ['Change', 'act'],
      ]}
      empty="No plans yet: a subscription grants nothing and allows everything. Add the first one below."
    >
      {plans.map((plan) => (
        <Row plan={plan} />
      ))}
    </Table>
    {unlisted.length > 0 && (
      <div class="card stack">
        <p>These subscriptions name no plan, so they grant nothing and allow everything:</p>
        <ul>
          {unlisted.map(({ name, accounts, nearest }) => (
            <li>
              <bdi>{name}</bdi>: {counted(accounts, 'account')}
              {nearest !== undefined && (
                <>
                  ; <bdi>{nearest}</bdi> is near
                </>
              )}
            </li>
          ))}
        </ul>
      </div>
    )}
    <PlanCard {...props} />
  </OperatorLayout>
)

const Row = ({ plan }: { plan: ListedPlan }) => (
  <tr>
    <td>
      <bdi>{plan.name}</bdi>
      <div class="row">
        {plan.forSale && <span class="badge good">for sale</span>}
        {plan.retiredAt && <span class="badge bad">retired</span>}
      </div>
    </td>
    <td class="number nowrap">
      {number(plan.credits)} a {plan.period}
      {plan.signUpCredits > 0 && <div class="small quiet">{number(plan.signUpCredits)} at sign-up</div>}
    </td>
    <td class="nowrap">{leftAt(plan)}</td>
    <td class="nowrap">{plan.models === null ? 'All' : counted(plan.models.length, 'version')}</td>
    <td class="number">{plan.rateLimit === null ? <span class="quiet">Usual</span> : number(plan.rateLimit)}</td>
    <td class="number">{number(plan.subscribers)}</td>
    <td class="number">
      <a class="button small" href={`${address(PATH, { plan: plan.name })}#plan`}>
        Change<bdi class="hidden-visually"> {plan.name}</bdi>
      </a>
    </td>
  </tr>
)

const leftAt = ({ carryOver }: ListedPlan) =>
  carryOver === null ? 'stays' : carryOver === 0 ? 'expires' : `${number(carryOver)} stay`

const PlanCard = ({ models, existing, form }: Pick<PlansPageProps, 'models' | 'existing' | 'form'>) => (
  <section id="plan" class="stack" aria-labelledby="plan-title">
    <form class="card stack" method="post" action={PATH}>
      <h2 id="plan-title">
        {existing ? (
          <>
            Change <bdi>{existing.name}</bdi>
          </>
        ) : (
          'Add a plan'
        )}
      </h2>
      <input type="hidden" name="existing" value={existing?.name ?? ''} />
      <PlanFields form={form} models={models} isNew={!existing} />
      <div class="row">
        <button class="primary" type="submit">
          {existing ? 'Save plan' : 'Add plan'}
        </button>
        {existing && <a href={PATH}>Add another plan</a>}
      </div>
      {existing && (
        <p class="quiet small">
          Credits change from each subscription’s next period on, models and rate limit at once.
          {existing.retiredAt && ' Saving it offers it again.'}
        </p>
      )}
    </form>
    {existing && !existing.retiredAt && (
      <div>
        <Act id="why-retire" action={`${PATH}/retire`} name="Retire" button="Retire plan" of={existing.name}>
          <p class="small">It is sold no more. Who has it keeps it.</p>
          <input type="hidden" name="name" value={existing.name} />
        </Act>
      </div>
    )}
  </section>
)

const DONE = {
  saved: 'The plan is saved.',
  retired: 'The plan is retired: who has it keeps it.',
} as const

const NONE = 'There is no plan of this name: choose one of the list.'
const TAKEN = 'There is a plan of this name already: choose Change in its row.'

const query = z.object({
  plan: z.string().optional().catch(undefined),
  done: z.enum(['saved', 'retired']).optional().catch(undefined),
})
const retirement = z.object({ reason, name: line(100, NONE) })

/** The plans: what subscriptions grant and allow. */
export function planRoutes(app: App, { ports, shop }: WebsiteOptions): void {
  const { catalog, plans } = ports

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { name, ...said }: { name?: string | undefined } & Partial<Pick<PlansPageProps, 'form' | 'done' | 'problem'>>,
  ) => {
    const [listed, models, unlisted] = await Promise.all([plans.list(), catalog.list(), plans.unlistedInUse()])
    const existing = listed.find((it) => it.name === name)
    if (name && !existing) throw noSuchPlan(name)
    const signedIn = sessionOf(request)
    const props = {
      isSelling: shop !== undefined,
      plans: listed,
      models,
      existing,
      unlisted,
      signedIn,
      form: formOf(existing),
    }
    return sendPage(reply, <PlansPage {...props} {...said} />)
  }

  app.get(PATH, { schema: { querystring: query } }, (request, reply) => {
    const { plan, done } = request.query
    return show(request, reply, { name: plan, done: done && DONE[done] })
  })

  app.post(PATH, { schema: { body: formBody } }, async (request, reply) => {
    const form = request.body
    try {
      const why = readForm(z.object({ reason }), form)
      if (!why.form) throw invalidParameter('reason', why.problem)
      if (!form.existing && (await plans.list()).some(({ name }) => name === form.name.trim()))
        throw invalidParameter('name', TAKEN)
      const untick = (message: string) => message.replace(/\.$/, ': untick it and save again.')
      const plan = planOfEntry(entryOf(form))
      await ports.requirePrices(planPrices([plan]))
      await importPlans(actingOf(ports, request, why.form.reason), [plan]).catch(inForm({ model_version_id: untick }))
    } catch (error) {
      return show(request, reply, { name: form.existing, form, problem: refusalMessage(error, reply) })
    }
    return reply.redirect(`${PATH}?done=saved`, 303)
  })

  app.post(`${PATH}/retire`, async (request, reply) => {
    const { form, problem } = readForm(retirement, request.body)
    if (!form) return show(request, reply.code(400), { problem })
    await retirePlan(actingOf(ports, request, form.reason), form.name)
    return reply.redirect(`${PATH}?done=retired`, 303)
  })
}
