import cookie from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { rateLimited } from '../../core/errors.js'
import type { Website } from '../../http/server/app.js'
import { readForms } from '../../http/server/malformed-requests.js'
import type { EventCounter } from '../../http/shared/authentication.js'
import { statusOf } from '../../http/shared/error-bodies.js'
import { toAppError } from '../../http/shared/error-responses.js'
import type { App } from '../../http/shared/fastify-app.js'
import { apiRoutes } from '../operator/api/api-page.js'
import { figuresRoutes } from '../operator/figures/figures-page.js'
import { overseenGenerationRoutes } from '../operator/generations/generation-page.js'
import { imagesRoutes } from '../operator/images/images-page.js'
import { removedImagesRoutes } from '../operator/images/removed-page.js'
import { logRoutes } from '../operator/logs/log.js'
import { mailsRoutes } from '../operator/logs/mails.js'
import { coverFormRoutes } from '../operator/models/cover-routes.js'
import { importRoutes } from '../operator/models/import-page.js'
import { modelRoutes } from '../operator/models/model-page.js'
import { modelsRoutes } from '../operator/models/models-page.js'
import { workflowRoutes } from '../operator/models/workflow-page.js'
import { moderationPageRoutes } from '../operator/moderation/moderation-page.js'
import { overviewRoutes } from '../operator/overview/overview-page.js'
import { paymentRoutes } from '../operator/payments/payments-page.js'
import { planRoutes } from '../operator/plans/plans-page.js'
import { reportedImageRoutes } from '../operator/reports/reports-page.js'
import { userRoutes } from '../operator/users/user-routes.js'
import { usersRoutes } from '../operator/users/users-page.js'
import { accountPageRoutes } from '../pages/account/account-page.js'
import { deletedAccountRoutes } from '../pages/account/delete-page.js'
import { coverRoutes } from '../pages/covers/cover-routes.js'
import { compareRoutes } from '../pages/gallery/compare-page.js'
import { folderRoutes } from '../pages/gallery/folders-page.js'
import { galleryRoutes } from '../pages/gallery/gallery-page.js'
import { selectionRoutes } from '../pages/gallery/selection.js'
import { homeRoutes } from '../pages/home/home-page.js'
import { imagePageRoutes } from '../pages/image/image-page.js'
import { ownImageRoutes } from '../pages/image/own-image-routes.js'
import { reportRoutes } from '../pages/image/report-page.js'
import { keyRoutes } from '../pages/keys/keys-page.js'
import { playgroundRoutes } from '../pages/playground/playground-routes.js'
import { pricingRoutes } from '../pages/pricing/pricing-page.js'
import { referenceRoutes } from '../pages/reference/reference-page.js'
import { providerRoutes } from '../pages/sign-in/provider-routes.js'
import { signInRoutes } from '../pages/sign-in/sign-in-page.js'
import { confirmEmailRoutes } from '../pages/sign-up/confirm-email-page.js'
import { signUpRoutes } from '../pages/sign-up/sign-up-page.js'
import { welcomeRoutes } from '../pages/sign-up/welcome-page.js'
import { usagePageRoutes } from '../pages/usage/usage-page.js'
import { webhookPageRoutes } from '../pages/webhooks/webhooks-page.js'
import { ErrorNotice, ErrorPage } from '../parts/error-page.js'
import { sendFragment, sendPage } from '../parts/layout.js'
import { isFragment } from '../shared/answers.js'
import { assetRoutes, defaultIcon } from '../shared/assets.js'
import type { WebsiteOptions } from '../shared/ports.js'
import {
  noSuchPage,
  registerSessions,
  requireOperator,
  requireSignedIn,
  type SessionCookie,
  viewerOf,
} from '../shared/session-cookie.js'
import { en, textsFor } from '../texts/texts.js'
import { clientPackageRoute } from './client-package.js'

/*
 * Each page has a folder. `<page>-page.tsx` has the page, a function of its data, and its routes, which read the request,
 * call the core and send the page; long routes have a file of their own, `<page>-routes.tsx`. Pages call the ports that
 * the APIs call, but do not count towards their rate limits: forms have one of their own.
 */

/** Every page, in one Fastify scope with sessions, errors as pages and security headers. */
export function website(options: WebsiteOptions): Website {
  const headers = securityHeaders(options)
  let readSession: SessionCookie['read'] = async () => undefined
  return {
    async pages(app, describe) {
      await app.register(cookie)
      readForms(app)
      app.addHook('onSend', (_request, reply, payload, next) => {
        if (String(reply.getHeader('content-type')).startsWith('text/html')) reply.headers(headers)
        next(null, payload)
      })
      const cookies = registerSessions(app, options.ports.sessions, options.baseUrl)
      readSession = cookies.read
      registerTexts(app, options.languages)
      app.setErrorHandler((thrown, request, reply) => {
        // What was refused before its session was read has none yet.
        request.texts ??= textsFor(request, options.languages)
        return showError(thrown, request, reply)
      })
      assetRoutes(app, options.assets, (app.site.mark ?? defaultIcon()).url)
      clientPackageRoute(app)
      homeRoutes(app, options)
      coverRoutes(app, options)
      imagePageRoutes(app, options)
      reportRoutes(app, options)
      referenceRoutes(app, options, describe.api)
      signInRoutes(app, options, cookies)
      providerRoutes(app, options, cookies)
      signUpRoutes(app, options, cookies)
      deletedAccountRoutes(app)
      const { shop, signUpIsOpen } = options
      if (shop) pricingRoutes(app, { shop, signUpIsOpen })
      await app.register(async (signedIn: App) => {
        signedIn.addHook('onRequest', requireSignedIn)
        signedIn.addHook('onRequest', limitForms(options.ports.guesses))
        playgroundRoutes(signedIn, options)
        accountPageRoutes(signedIn, options, cookies)
        usagePageRoutes(signedIn, options)
        keyRoutes(signedIn, options)
        webhookPageRoutes(signedIn, options)
        galleryRoutes(signedIn, options)
        selectionRoutes(signedIn, options)
        folderRoutes(signedIn, options)
        compareRoutes(signedIn, options)
        ownImageRoutes(signedIn, options)
        confirmEmailRoutes(signedIn, options)
        welcomeRoutes(signedIn, options)
      })
      await app.register(async (operators: App) => {
        operators.addHook('onRequest', requireSignedIn)
        operators.addHook('onRequest', requireOperator)
        // The console speaks English, as its errors and the command line do.
        operators.addHook('onRequest', async (request) => {
          request.texts = en
        })
        overviewRoutes(operators, options)
        overseenGenerationRoutes(operators, options)
        modelsRoutes(operators, options)
        modelRoutes(operators, options)
        coverFormRoutes(operators, options)
        importRoutes(operators, options)
        workflowRoutes(operators, options)
        planRoutes(operators, options)
        if (options.shop) paymentRoutes(operators, options)
        figuresRoutes(operators, options)
        logRoutes(operators, options)
        usersRoutes(operators, options)
        userRoutes(operators, options)
        moderationPageRoutes(operators, options)
        imagesRoutes(operators, options)
        removedImagesRoutes(operators, options)
        reportedImageRoutes(operators, options)
        mailsRoutes(operators, options)
        apiRoutes(operators, options, describe.admin)
      })
    },
    async notFound(error, request, reply) {
      if (request.headers['service-worker'] === 'script')
        return reply.type('text/javascript').header('cache-control', 'no-store').send(NO_SERVICE_WORKER)
      // Without Postgres nobody counts as signed in.
      await readSession(request).catch(() => undefined)
      request.texts = textsFor(request, options.languages)
      return showError(error.code === 'not_found' ? noSuchPage() : error, request, reply.headers(headers))
    },
    async viewerOf(request) {
      await readSession(request)
      return viewerOf(request)
    },
  }
}

/**
 * Easel has no service worker. One that another program left at this address, before Easel came there, would answer in its place for ever:
 * a browser that looks whether there is a newer one gets this, which ends it and loads its pages anew.
 */
const NO_SERVICE_WORKER = `addEventListener('install', () => skipWaiting())
addEventListener('activate', async () => {
  await registration.unregister()
  for (const page of await clients.matchAll({ type: 'window' })) page.navigate(page.url)
})
`

/** Every answer of this scope is in its reader's language. */
function registerTexts(app: App, languages: WebsiteOptions['languages']): void {
  app.decorateRequest('texts')
  app.addHook('onRequest', async (request) => {
    request.texts = textsFor(request, languages)
  })
}

/** Pages load only our own files and the images. Inline `style` is allowed: it only holds proportions. */
const securityHeaders = ({ ports, baseUrl, paymentOrigins }: WebsiteOptions) => ({
  'content-security-policy': [
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; connect-src 'self'",
    `img-src 'self' data: ${new URL(ports.images.url('0'.repeat(22))).origin}`,
    // A form that buys something is answered with a redirect to the provider's page.
    `form-action ${["'self'", ...paymentOrigins].join(' ')}`,
    "frame-ancestors 'none'; base-uri 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'cache-control': 'no-store',
  ...(baseUrl.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000' }),
})

function showError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = toAppError(thrown, request)
  if (error.code === 'internal') request.log.error({ err: thrown }, 'page failed')
  else if (error.code === 'unavailable') request.log.warn({ err: thrown }, 'page could not be served')
  const { retryAfterSeconds } = error.detail
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
  reply.code(statusOf(error.code))
  if (isFragment(request)) return sendFragment(reply, <ErrorNotice error={error} />)
  return sendPage(reply, <ErrorPage error={error} request={request} />)
}

/** More than anybody clicks and types; a program has the API, with its own limit. */
const MAX_FORMS = 120
const FORMS_SECONDS = 60

/** Limits an account's forms: each may ask moderation, call a webhook or write rows. */
const limitForms =
  (counter: EventCounter) =>
  async ({ method, caller }: FastifyRequest) => {
    if (method === 'GET' || method === 'HEAD') return
    const { current, ttlMs } = await counter.hit(`website:${caller.account.id}`, FORMS_SECONDS * 1000, MAX_FORMS)
    if (current > MAX_FORMS) throw rateLimited(MAX_FORMS, FORMS_SECONDS, Math.max(1, Math.ceil(ttlMs / 1000)))
  }
