import { type CancelPorts, cancelGeneration } from '../../generation/cancel.js'
import { CANCELED } from '../../generation/failure-reason.js'
import { findOwned, hasEnded, pollGeneration } from '../../generation/follow/poll.js'
import type { App } from '../fastify-app.js'
import { refusals } from './envelope.js'
import type { FollowRoutePorts } from './follow-routes.js'
import { generationParams } from './generate-routes.js'
import { polled, polledView } from './views.js'

/** Ends a generation for its owner. */
export function cancelRoutes(app: App, ports: FollowRoutePorts & CancelPorts): void {
  app.post(
    '/generate/:id/cancel',
    {
      schema: {
        operationId: 'cancelGeneration',
        tags: ['Generations'],
        summary: 'Cancel a generation',
        description:
          'What has not ended fails with "Canceled.", all its credits are given back, and another one may be submitted ' +
          'at once. What has ended stays as it is. Answers like a poll, however often it is asked. No body is needed.',
        params: generationParams,
        response: { 200: polled, ...refusals(404, 413) },
      },
    },
    async (request, reply) => {
      const { account } = request.caller
      const { id } = request.params
      const before = await findOwned(ports, account, id)
      if (!hasEnded(before)) await cancelGeneration(ports, id, CANCELED, { onlyQueued: false })
      reply.header('cache-control', 'no-store')
      return polledView(await pollGeneration(ports, account, id), (slug) => ports.images.url(slug))
    },
  )
}
