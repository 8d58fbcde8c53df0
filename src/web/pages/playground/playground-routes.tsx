import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fragment, h } from 'preact'
import { z } from 'zod'
import { isAllowedModel } from '../../../core/accounts/account.js'
import { inPlace, type ModelVersion, requireAvailable } from '../../../core/catalog/model-version.js'
import { AppError } from '../../../core/errors.js'
import { cancelGeneration } from '../../../core/generations/cancel.js'
import { CANCELED } from '../../../core/generations/failure-reason.js'
import { holdOf, readinessByModel } from '../../../core/generations/follow/hold.js'
import { hasEnded, pollGeneration } from '../../../core/generations/follow/poll.js'
import { checkTyped } from '../../../core/generations/submit/check-prompt.js'
import { submitGeneration } from '../../../core/generations/submit/submit.js'
import { lineUp } from '../../../core/up-next/up-next.js'
import { generateBody } from '../../../http/personal-api/generations/submit-schemas.js'
import { statusOf } from '../../../http/shared/error-bodies.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { isBlank } from '../../../lib/text.js'
import { sendFragment, sendPage } from '../../parts/layout.js'
import { isFragment } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { inWords, nameInWords } from '../../texts/refusals.js'
import { Changes, ChangesNow } from './changes.js'
import { bodyOf, type Form, formBody, formOf, submitBody } from './form.js'
import { HoldWarning } from './hold.js'
import { type Problem, ProblemNotice } from './playground-form.js'
import { PlaygroundPage } from './playground-page.js'
import { planProblem, problemOf } from './problems.js'
import { applied, NamingAsked, settingsProblem } from './saved-settings.js'
import { savedSettingsRoutes } from './saved-settings-routes.js'
import { type Active, ActiveStage, EndedStage } from './stage.js'
import { activeOf, creditsOf, latestOf, recentOf, stateNow, stateOf, upNextOf } from './state.js'
import { streamRoutes } from './stream-routes.js'
import { sendUpNext, upNextRoutes } from './up-next-routes.js'
import { ASKED, formFor, modelOf, type Offer, type Shown, visitQuery } from './visit.js'

const chosenModel = z.object({ model_version_id: z.coerce.number().catch(0) })
const params = z.object({ id: z.string() })

const NOTHING = h(Fragment, null)

/** How long the latest result stays on the stage. */
const SHOWN_MS = 60 * 60_000

/** Making images on the website: the same use cases as the API's, on its lane. */
export function playgroundRoutes(app: App, options: WebsiteOptions): void {
  const { ports, baseUrl } = options

  /** @param asked makes the form from the models on offer and what was drawn last */
  const showPage = async (
    request: FastifyRequest,
    reply: FastifyReply,
    asked: (offer: Offer, latest: Form | undefined) => Promise<Shown> | Shown,
  ) => {
    const signedIn = sessionOf(request)
    const { id } = signedIn.caller.account
    const [enabled, usual, readinessOf, active, recent, previous, upNext, saved] = await Promise.all([
      ports.models.listEnabled(),
      ports.models.findDefault(),
      readinessByModel(ports.estimates),
      activeOf(ports, request),
      recentOf(ports, id),
      latestOf(ports, id),
      upNextOf(ports, id),
      ports.savedSettings.list(id),
    ])
    const latest = active?.generation ?? previous
    const shown = await asked({ models: enabled, usual }, latest && formOf(latest, modelOf(enabled, latest)))
    const isFresh = latest?.finishedAt && Date.now() - latest.finishedAt.getTime() < SHOWN_MS
    const ended = shown.source ?? (isFresh ? latest : undefined)
    const returning = latest !== undefined
    const includes = ({ id }: ModelVersion) => isAllowedModel(signedIn.caller, id)
    const chosen = enabled.find((model) => `${model.id}` === shown.form.model_version_id)
    const hold = chosen && readinessOf?.(chosen.filename).hold
    // The operator's default first, whoever asks.
    const models = inPlace(enabled).sort((a, b) => Number(b.id === usual?.id) - Number(a.id === usual?.id))
    const offered = { models, includes, readinessOf, hold, saved }
    const props = { signedIn, ...offered, active, upNext, ended, recent, returning, baseUrl, urls: ports.images }
    const problem = shown.problem ?? planProblem(signedIn.caller.account, request.texts)
    const editing = upNext.ideas.find(({ id }) => id === shown.editing)?.id
    return sendPage(reply, <PlaygroundPage {...props} {...shown} {...{ problem, editing }} />)
  }

  app.get('/playground', { schema: { querystring: visitQuery } }, (request, reply) =>
    showPage(request, reply, (offer, latest) => formFor(ports, request, request.query, offer, latest)),
  )

  app.post('/playground', { schema: { body: submitBody } }, async (request, reply) => {
    const { to, idea: editing, settings, ...form } = request.body
    const words = request.texts.playground
    const refuse = async (status: number, problem: Problem, active?: Active) => {
      reply.code(status)
      if (!isFragment(request)) return showPage(request, reply, () => ({ ...ASKED, form, problem, editing }))
      const { id, credits } = sessionOf(request).caller.account
      const upNext = await upNextOf(ports, id)
      return sendFragment(
        reply,
        <>
          {active && <Changes stage={<ActiveStage active={active} />} running {...{ credits, upNext }} />}
          <ProblemNotice problem={problem} />
        </>,
      )
    }

    const { id: accountId } = request.caller.account
    if (to === 'apply') {
      const chosen = settings ? await ports.savedSettings.find(accountId, settings) : undefined
      const includes = ({ id }: ModelVersion) => isAllowedModel(request.caller, id)
      return showPage(request, reply, ({ models }) => ({
        ...ASKED,
        ...applied(chosen, form, models, includes, request.texts),
        editing,
      }))
    }
    if (to === 'save-settings') {
      const unfit = settingsProblem(form, request.texts)
      if (unfit) return refuse(400, unfit)
      const naming = { name: '', style: '', form }
      if (!isFragment(request))
        return showPage(request, reply, () => ({ ...ASKED, form, editing, settings: { naming } }))
      return sendFragment(reply, <NamingAsked saved={await ports.savedSettings.list(accountId)} naming={naming} />)
    }
    if (isBlank(form.prompt)) return refuse(400, { text: words.problems.noPrompt, field: 'prompt' })
    const checked = generateBody.safeParse(bodyOf(form))
    if (!checked.success) {
      const [issue] = checked.error.issues
      const text = issue ? inWords(issue.message, request.texts) : words.problems.incomplete
      return refuse(400, { text, field: issue?.path.join('.') })
    }
    const { modelVersionId, ...drawing } = checked.data
    const model = async () => requireAvailable(await ports.models.find(modelVersionId), modelVersionId)
    try {
      if (to === 'up-next') {
        await lineUp(ports.upNext, request.caller, { ...drawing, model, body: bodyOf(form) }, editing)
        return await sendUpNext(ports, request, reply)
      }
      const submission = {
        ...drawing,
        model,
        lane: 'personal',
        requestId: request.id,
        idempotency: undefined,
      } as const
      const { id, creditsLeft } = await submitGeneration(ports, request.caller, submission)
      request.generationId = id
      if (!isFragment(request)) return reply.redirect('/playground', 303)
      return await sendChanges(request, reply, id, creditsLeft)
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'internal') throw error
      const { retryAfterSeconds } = error.detail
      if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
      const active = error.code === 'active_generation' ? await activeOf(ports, request) : undefined
      return refuse(statusOf(error.code), problemOf(error, request.texts), active)
    }
  })

  app.post('/playground/check', { schema: { body: formBody } }, async ({ body: form, caller, texts }, reply) => {
    const words = texts.playground.check
    const checked = generateBody.safeParse(bodyOf(form))
    // What is blank or wrong is said when it is submitted: nobody is disturbed while typing.
    if (!checked.success) return sendFragment(reply, NOTHING)
    const { prompt, negativePrompt } = checked.data.request
    const model = await ports.models.find(checked.data.modelVersionId)
    const asked = { prompt, negativePrompt, nsfwModel: model?.nsfw ?? false }
    const verdict = await checkTyped(ports, caller.account.id, asked).catch(() => undefined)
    if (!verdict?.category) return sendFragment(reply, NOTHING)
    const why = (
      <>
        <bdi>{nameInWords(verdict.category, texts)}</bdi>
        {verdict.matched.map((word, n) => (
          <>
            {n === 0 ? ' (' : ', '}
            {words.quoted(<bdi>{word}</bdi>)}
          </>
        ))}
        {verdict.matched.length > 0 && ')'}
      </>
    )
    const field = verdict.parameter === 'prompt' ? 'prompt' : 'negative_prompt'
    return sendFragment(reply, <p class="hint small">{words.because(field, why)}</p>)
  })

  app.get('/playground/hold', { schema: { querystring: chosenModel } }, async (request, reply) => {
    const model = await ports.models.find(request.query.model_version_id)
    return sendFragment(reply, <HoldWarning of={model && (await holdOf(ports.estimates, model.filename))} />)
  })

  app.post('/playground/:id/cancel', { schema: { params } }, async (request, reply) => {
    const { id } = request.params
    const before = await pollGeneration(ports, request.caller.account, id)
    if (!hasEnded(before)) await cancelGeneration(ports, id, CANCELED, { onlyQueued: false })
    if (!isFragment(request)) return reply.redirect('/playground', 303)
    return sendChanges(request, reply, id)
  })

  /** Sends what a generation that has just begun or ended changes on the page. */
  async function sendChanges(request: FastifyRequest, reply: FastifyReply, id: string, creditsLeft?: number) {
    const state = await stateOf(ports, request, id)
    if (hasEnded(state.now))
      return sendFragment(
        reply,
        <ChangesNow now={await stateNow(ports, request)} ended={state.generation} urls={ports.images} />,
      )
    const credits = creditsLeft ?? (await creditsOf(ports, request))
    const upNext = await upNextOf(ports, request.caller.account.id)
    return sendFragment(reply, <Changes stage={<ActiveStage active={state} />} running {...{ credits, upNext }} />)
  }

  app.get('/playground/:id/result', { schema: { params } }, async (request, reply) => {
    const { generation } = await stateOf(ports, request, request.params.id)
    return sendFragment(reply, <EndedStage of={generation} urls={ports.images} />)
  })

  streamRoutes(app, options)
  upNextRoutes(app, ports)
  savedSettingsRoutes(app, ports, (request, reply, { form, ...settings }) =>
    showPage(request, reply, () => ({ ...ASKED, form, settings })),
  )
}
