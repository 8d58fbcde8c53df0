/** What a stream of events about one generation may say, and in which order. */
import type { Message } from '../../../src/client/follow-generation.js'
import { fieldsOf, misshapenPoll } from './answer-shapes.js'

const MAX_PREVIEW = 24 * 1024

/** Every fault of what one stream has said from its beginning on; it may have broken off at any point. */
export function streamFaults(id: string, events: readonly Message[]): string[] {
  const faults: string[] = []
  let over = false
  let progress = 0
  for (const [i, { event, data }] of events.entries()) {
    const body = fieldsOf(data)
    const fault = () => {
      if (over) return 'comes after the end'
      switch (event) {
        case 'status':
        case 'end': {
          over = event === 'end'
          progress = 0
          const ended = body.status === 'succeeded' || body.status === 'failed'
          if (body.id !== id) return `is about ${body.id}`
          return ended === over ? misshapenPoll(body) : `has the status ${body.status}`
        }
        case 'queue_position':
          return Number(body.queue_position) >= 1 ? undefined : 'is no place in the queue'
        case 'progress': {
          const before = progress
          progress = Number(body.progress)
          return progress >= before && progress <= 1 ? undefined : `comes after ${before}`
        }
        case 'preview': {
          const image = String(body.image)
          return image.startsWith('data:image/webp;base64,') && image.length <= MAX_PREVIEW
            ? undefined
            : `has ${image.length} characters, which begin with ${image.slice(0, 25)}`
        }
        default:
          return 'is unknown'
      }
    }
    const first = i === 0 && event !== 'status' && event !== 'end' ? 'comes before any status' : undefined
    const what = first ?? fault()
    if (what) faults.push(`${event} ${JSON.stringify(data).slice(0, 80)} ${what}`)
  }
  return faults
}
