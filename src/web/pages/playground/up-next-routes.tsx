import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { goesOn } from '../../../core/up-next/up-next.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendFragment } from '../../parts/layout.js'
import { isFragment } from '../../shared/answers.js'
import type { WebsitePorts } from '../../shared/ports.js'
import { ChangesNow, UpNextChanges } from './changes.js'
import { creditsOf, stateNow, upNextOf } from './state.js'

const params = z.object({ id: z.uuid() })
const ofList = z.object({ do: z.enum(['pause', 'go-on', 'clear']) })
const ofIdea = z.object({ do: z.enum(['up', 'down', 'remove']) })

/** What a person does with what is up next, and how the page learns that the next one has begun. */
export function upNextRoutes(app: App, ports: WebsitePorts): void {
  app.get('/playground/up-next', async (request, reply) => {
    if (!isFragment(request)) return reply.redirect('/playground', 303)
    const now = await stateNow(ports, request)
    // The next one begins in a moment; what stands on the stage stays there until then.
    if (!now.active && goesOn(now.upNext))
      return sendFragment(reply, <UpNextChanges running={false} credits={now.credits} upNext={now.upNext} />)
    return sendFragment(reply, <ChangesNow now={now} urls={ports.images} unasked />)
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
