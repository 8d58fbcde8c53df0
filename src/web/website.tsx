import cookie from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Website } from '../http/app.js'
import { toAppError } from '../http/error-answers.js'
import { statusOf } from '../http/error-bodies.js'
import type { App } from '../http/fastify-app.js'
import { readForms } from '../http/utf8.js'
import { accountPageRoutes } from './account/account-routes.js'
import { limitActs } from './act-limit.js'
import { assetRoutes } from './assets.js'
import { clientPackageRoute } from './client-package.js'
import { ErrorNotice, ErrorPage } from './error-page.js'
import { isFragment } from './fragment.js'
import { galleryRoutes } from './gallery/gallery-routes.js'
import { homeRoutes } from './home/home-routes.js'
import { imagePageRoutes, ownImageRoutes } from './image/image-page-routes.js'
import { keyRoutes } from './keys/keys-routes.js'
import { sendFragment, sendPage } from './layout.js'
import { overseenGenerationRoutes } from './operator/generation-routes.js'
import { imagesRoutes } from './operator/images-routes.js'
import { logRoutes } from './operator/log-routes.js'
import { mailsRoutes } from './operator/mails-routes.js'
import { modelRoutes } from './operator/models-routes.js'
import { moderationPageRoutes } from './operator/moderation-routes.js'
import { overviewRoutes } from './operator/overview-routes.js'
import { userRoutes } from './operator/user-routes.js'
import { usersRoutes } from './operator/users-routes.js'
import { playgroundRoutes } from './playground/playground-routes.js'
import type { WebsiteOptions } from './ports.js'
import { referenceRoutes } from './reference/reference-routes.js'
import { noSuchPage, registerSessions, requireOperator, requireSignedIn, type SessionCookie } from './session-cookie.js'
import { providerRoutes } from './sign-in/provider-routes.js'
import { signInRoutes } from './sign-in/sign-in-routes.js'
import { confirmEmailRoutes } from './sign-up/confirm-email-routes.js'
import { signUpRoutes } from './sign-up/sign-up-routes.js'
import { webhookPageRoutes } from './webhooks/webhooks-routes.js'

/*
 * The layout of the website: a folder for each page has `<page>-routes.tsx`, which reads the request, calls the core and
 * sends the page, and `<page>-page.tsx`, the page as a function of its data. Pages call the ports that the interfaces
 * call, and count towards no rate limit of theirs: forms have their own.
 */

/** The website: every page, under one scope with its sessions, its errors as pages, and its security headers. */
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
      app.setErrorHandler((thrown, request, reply) => showError(thrown, request, reply))
      assetRoutes(app)
      clientPackageRoute(app)
      homeRoutes(app, options)
      imagePageRoutes(app, options)
      referenceRoutes(app, options, describe)
      signInRoutes(app, options, cookies)
      providerRoutes(app, options, cookies)
      signUpRoutes(app, options, cookies)
      await app.register(async (signedIn: App) => {
        signedIn.addHook('onRequest', requireSignedIn)
        signedIn.addHook('onRequest', limitActs(options.ports.guesses))
        playgroundRoutes(signedIn, options)
        accountPageRoutes(signedIn, options, cookies)
        keyRoutes(signedIn, options)
        webhookPageRoutes(signedIn, options)
        galleryRoutes(signedIn, options)
        ownImageRoutes(signedIn, options)
        confirmEmailRoutes(signedIn, options)
      })
      await app.register(async (operators: App) => {
        operators.addHook('onRequest', requireSignedIn)
        operators.addHook('onRequest', requireOperator)
        overviewRoutes(operators, options)
        overseenGenerationRoutes(operators, options)
        modelRoutes(operators, options)
        logRoutes(operators, options)
        usersRoutes(operators, options)
        userRoutes(operators, options)
        moderationPageRoutes(operators, options)
        imagesRoutes(operators, options)
        mailsRoutes(operators, options)
      })
    },
    async notFound(error, request, reply) {
      // Without Postgres the page says the same to a stranger.
      await readSession(request).catch(() => undefined)
      return showError(error.code === 'not_found' ? noSuchPage() : error, request, reply.headers(headers))
    },
  }
}

/** Pages load what is our own and the images; `style` attributes only hold proportions. */
const securityHeaders = ({ ports, baseUrl }: WebsiteOptions) => ({
  'content-security-policy': [
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; connect-src 'self'",
    `img-src 'self' data: ${new URL(ports.images.url('0'.repeat(22))).origin}`,
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
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
