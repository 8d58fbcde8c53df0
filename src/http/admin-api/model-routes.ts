import { z } from 'zod'
import { invalidParameter } from '../../core/errors.js'
import { MAX_PRICE, noSuchVersion, setEnabled, setPrice } from '../../core/operator/catalog.js'
import { personalRefusals } from '../shared/error-bodies.js'
import type { App } from '../shared/fastify-app.js'
import * as field from '../shared/fields.js'
import { type ActPorts, act } from './acts.js'
import * as admin from './admin-fields.js'

const tags = ['Models']

const changeSchema = {
  operationId: 'changeModel',
  tags,
  summary: 'Offer a model version, or offer it no more, or set its price',
  description: 'What is queued still runs, at the price of its submit.',
  params: field.idParams("A model version's ID"),
  body: field.body({
    enabled: z.boolean('enabled must be true or false.').optional(),
    credits_per_image: field.integer('credits_per_image', { min: 0, max: MAX_PRICE }).optional(),
    reason: admin.reason,
  }),
  response: {
    200: z
      .object({ id: z.int(), enabled: z.boolean().optional(), credits_per_image: z.int().optional() })
      .meta({ id: 'AdminChangedModel' }),
    ...personalRefusals(400, 404, 413, 415),
  },
}

export function modelRoutes(app: App, ports: ActPorts): void {
  const config = admin.OF_MODELS

  app.patch('/models/:id', { config, schema: changeSchema }, (request, reply) => {
    const id = Number(/^\d{1,15}$/.exec(request.params.id)?.[0] ?? 0)
    const { enabled, credits_per_image } = request.body
    if (enabled === undefined && credits_per_image === undefined)
      throw invalidParameter('enabled', 'Nothing to change: give enabled or credits_per_image.')
    return act(request, reply, ports, async (acting) => {
      if (id === 0) throw noSuchVersion(request.params.id)
      if (credits_per_image !== undefined) await setPrice(acting, id, credits_per_image)
      if (enabled !== undefined) await setEnabled(acting, id, enabled)
      return { body: { id, enabled, credits_per_image } }
    })
  })
}
