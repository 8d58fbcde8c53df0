import { z } from 'zod'
import { AppError } from '../../../core/errors.js'
import { MAX_PRICE } from '../../../core/operator/catalog.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { byOf, reason } from '../parts/operator-forms.js'
import { ModelPage, ModelsPage } from './models-page.js'

const PRICE = `The price is a whole number from 0 to ${MAX_PRICE}: credits per image.`
const params = z.object({ id: z.coerce.number().int().min(1).catch(0) })
const price = z
  .string(PRICE)
  .trim()
  .regex(/^\d{1,7}$/, PRICE)
  .transform(Number)
  .refine((credits) => credits <= MAX_PRICE, PRICE)
const enabled = z.enum(['yes', 'no'], 'Choose whether it is offered: yes or no.')
const body = z.object({ reason, price, enabled })

/** The model versions: which are offered, and for how much. */
export function modelRoutes(app: App, { ports }: WebsiteOptions): void {
  const { catalog, oversight } = ports
  const find = async (id: number) => {
    const model = (await catalog.list()).find((it) => it.id === id)
    if (!model) throw new AppError('not_found', 'No model version has this ID: choose one of the list.')
    return model
  }

  app.get('/operator/models', async (request, reply) => {
    const [models, { backends }] = await Promise.all([catalog.list(), oversight.overview()])
    return sendPage(reply, <ModelsPage models={models} backends={backends} signedIn={sessionOf(request)} />)
  })

  app.get('/operator/models/:id', { schema: { params } }, async (request, reply) => {
    const model = await find(request.params.id)
    return sendPage(reply, <ModelPage model={model} signedIn={sessionOf(request)} />)
  })

  app.post('/operator/models/:id', { schema: { params, body } }, async (request, reply) => {
    const model = await find(request.params.id)
    const { price, reason } = request.body
    const by = byOf(request, reason)
    const isOn = request.body.enabled === 'yes'
    // Only what changes is written and recorded.
    if (price !== model.creditsPerImage) await catalog.setPrice(model.id, price, by)
    if (isOn !== model.enabled) await catalog.setEnabled(model.id, isOn, by)
    return reply.redirect('/operator/models', 303)
  })
}
