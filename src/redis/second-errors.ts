/** Loaded for what it does: ioredis hears every error of the connections that it opens. */
import type { Duplex } from 'node:stream'
import { Redis } from 'ioredis'

/**
 * A connection with TLS can fail twice: Node ends one whose certificate it refuses, and then still emits the alert that the server
 * sends about that. ioredis hears only the first error of each of its connections, also of those that it and BullMQ open by
 * themselves: to sentinels, to nodes, for subscriptions, copies. The second one would end the process.
 */
const prototype = Redis.prototype as unknown as Record<'silentEmit', (this: Emitting, ...event: unknown[]) => boolean>
type Emitting = { readonly stream?: Duplex | null }
const { silentEmit } = prototype
prototype.silentEmit = function (...event) {
  if (event[0] === 'error' && this.stream?.listeners('error').includes(heard) === false) this.stream.on('error', heard)
  return silentEmit.apply(this, event)
}
const heard = () => undefined
