import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendFragment } from '../../parts/layout.js'
import { isFragment } from '../../shared/answers.js'
import type { WebsitePorts } from '../../shared/ports.js'
import { Changes, UpNextChanges } from './changes.js'
import { ActiveStage } from './stage.js'
import { activeOf, creditsOf, recentOf, upNextOf } from './state.js'
import { Strip } from './strip.js'

const params = z.object({ id: z.uuid() })
const ofList = z.object({ do: z.enum(['pause', 'go-on', 'clear']) })
const ofIdea = z.object({ do: z.enum(['up', 'down', 'remove']) })

/** What a person does with what is up next, and how the page learns that the next one has begun. */
export function upNextRoutes(app: App, ports: WebsitePorts): void {
  app.get('/playground/up-next', async (request, reply) => {
    if (!isFragment(request)) return reply.redirect('/playground', 303)
    const active = await activeOf(ports, request)
    if (!active) return sendUpNext(ports, request, reply)
    const { id } = request.caller.account
    const [credits, upNext, recent] = await Promise.all([
      creditsOf(ports, request),
      upNextOf(ports, id),
      recentOf(ports, id),
    ])
    const stage = <ActiveStage active={active} />
    const strip = <Strip of={recent} urls={ports.images} />
    return sendFragment(reply, <Changes {...{ stage, strip, credits, upNext }} running unasked />)
  })

  app.post('/playground/up-next', { schema: { body: ofList } }, async (request, reply) => {
    const { id } = request.caller.account
    if (request.body.do === 'pause') await ports.upNext.pause(id)
    else if (request.body.do === 'go-on') await ports.upNext.goOn(id)
    else await ports.upNext.clear(id)
    return sendUpNext(ports, request, reply)
  })

  app.post('/playground/up-next/:id', { schema: { params, body: ofIdea } }, async (request, reply) => {
    const { id } = request.caller.account
    if (request.body.do === 'remove') await ports.upNext.remove(id, request.params.id)
    else await ports.upNext.move(id, request.params.id, request.body.do)
    return sendUpNext(ports, request, reply)
  })
}

/** Shows what is up next now. */
export async function sendUpNext(ports: WebsitePorts, request: FastifyRequest, reply: FastifyReply) {
  if (!isFragment(request)) return reply.redirect('/playground#up-next', 303)
  const { id } = request.caller.account
  const [credits, upNext, active] = await Promise.all([
    creditsOf(ports, request),
    upNextOf(ports, id),
    ports.submissions.activeGeneration(id),
  ])
  return sendFragment(reply, <UpNextChanges running={active !== undefined} {...{ credits, upNext }} />)
}
