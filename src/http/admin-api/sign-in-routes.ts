import { z } from 'zod'
import { LINK_DAYS, LINK_MINUTES } from '../../core/accounts/session.js'
import { makeSignInLink, rotateWebhookSecret, setPassword } from '../../core/operator/accounts.js'
import { personalRefusals } from '../shared/error-bodies.js'
import type { App } from '../shared/fastify-app.js'
import * as field from '../shared/fields.js'
import { type ActPorts, act } from './acts.js'
import * as admin from './admin-fields.js'

const tags = ['Accounts']

const linkSchema = {
  operationId: 'makeSignInLink',
  tags,
  summary: 'Make a link that signs in to the website once',
  description: 'The link is stored nowhere: a repeat with the same `Idempotency-Key` answers without it.',
  params: admin.ofAccount,
  headers: admin.POSTED,
  body: field
    .body({
      minutes: field
        .integer('minutes', { min: 1, max: LINK_DAYS * 1440 })
        .optional()
        .describe(`${LINK_MINUTES} unless given`),
      reason: admin.reason,
    })
    .nullish(),
  response: {
    201: z.object({ url: z.string().nullable(), expires_at: z.iso.datetime() }).meta({ id: 'AdminSignInLink' }),
    ...personalRefusals(400, 404, 409, 413, 415, 422),
  },
}

const passwordSchema = {
  operationId: 'setPassword',
  tags,
  summary: 'Set the password of an account',
  description: 'Ends all of its sessions.',
  params: admin.ofAccount,
  body: field.body({ password: z.string('password must be a text.').max(400), reason: admin.reason }),
  response: {
    200: z.object({ username: z.string() }).meta({ id: 'AdminChangedPassword' }),
    ...personalRefusals(400, 404, 413, 415),
  },
}

const rotateSchema = {
  operationId: 'rotateWebhookSecret',
  tags,
  summary: 'Replace the secret that signs requests to the `webhook_url` of an account',
  description:
    'The old one signs, too, for a day. A repeat with the same `Idempotency-Key` answers without the new one.',
  params: admin.ofAccount,
  headers: admin.POSTED,
  body: admin.reasonOnly,
  response: {
    201: z
      .object({ username: z.string(), secret: z.string().nullable(), old_secret_until: z.iso.datetime() })
      .meta({ id: 'AdminWebhookSecret' }),
    ...personalRefusals(400, 404, 409, 413, 415, 422),
  },
}

export function signInRoutes(app: App, ports: ActPorts, baseUrl: string): void {
  const config = admin.OF_ACCOUNTS

  app.post('/accounts/:name/sign-in-link', { config, schema: linkSchema }, async (request, reply) => {
    const { name } = request.params
    return act(request, reply, ports, async (acting) => {
      const { url, expiresAt } = await makeSignInLink(acting, name, { baseUrl, minutes: request.body?.minutes })
      const body = { url: url as string | null, expires_at: expiresAt }
      return { status: 201, body, repeated: { ...body, url: null } }
    })
  })

  app.put('/accounts/:name/password', { config, schema: passwordSchema }, async (request, reply) => {
    const { name } = request.params
    return act(request, reply, ports, async (acting) => ({
      body: { username: await setPassword(acting, name, async () => request.body.password) },
    }))
  })

  app.post('/accounts/:name/webhook-secret', { config, schema: rotateSchema }, (request, reply) =>
    act(request, reply, ports, async (acting) => {
      const { username, secret, oldSecretUntil } = await rotateWebhookSecret(acting, request.params.name)
      const body = { username, secret: secret as string | null, old_secret_until: oldSecretUntil }
      return { status: 201, body, repeated: { ...body, secret: null } }
    }),
  )
}
