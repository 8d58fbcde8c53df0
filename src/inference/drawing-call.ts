import { BackendError } from '../core/generations/run/backend.js'
import type { HttpReply, ServerHttp } from './server-http.js'
import { isGatewayFault, isGatewayTimeout } from './server-reply.js'

/** A proxy that answers sooner has not waited for the server, and a connection that breaks sooner has drawn nothing. */
const WAITED_MS = 500

type Sent = Parameters<ServerHttp['post']>

/**
 * A POST that is answered when the image is drawn.
 * @param timeoutMs for how long Easel would have waited
 * @throws BackendError `lost` that names a proxy's time-out where one has probably cut the drawing off
 */
export async function drawingCall(http: ServerHttp, timeoutMs: number, ...sent: Sent): Promise<HttpReply> {
  const begunAt = performance.now()
  const waited = () => performance.now() - begunAt
  try {
    const reply = await http.post(...sent)
    const { status } = reply
    if (isGatewayTimeout(status) || (isGatewayFault(status) && waited() >= WAITED_MS))
      throw cutOff(`${http.name} answered ${status}`, waited(), timeoutMs)
    return reply
  } catch (error) {
    const isCut = error instanceof BackendError && error.kind === 'lost' && waited() >= WAITED_MS
    if (!isCut || error instanceof CutOff) throw error
    const said = `${error.message} (if the GPU server was not restarted just then)`
    throw cutOff(said, waited(), timeoutMs)
  }
}

class CutOff extends BackendError {}

/** The error of a drawing that was cut off after so long; `said`: how that was seen. It has no cause, which the log shows first. */
export function cutOff(said: string, afterMs: number, timeoutMs: number): BackendError {
  const seconds = `${Number((afterMs / 1000).toFixed(1))} s`
  return new CutOff(
    'lost',
    `${said} after ${seconds} of drawing: probably a proxy between Easel and the GPU server gives up after ${seconds}; ` +
      `set its time-out for answers (nginx: proxy_read_timeout) to more than INFERENCE_TIMEOUT_SECONDS, which is ` +
      `${timeoutMs / 1000}, or let Easel reach the GPU server directly`,
    'The drawing was cut off before it was finished; try fewer steps, a smaller size or fewer images.',
  )
}
