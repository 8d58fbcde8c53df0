import type { VNode } from 'preact'
import { render } from 'preact-render-to-string'
import { z } from 'zod'
import { etaSeconds } from '../../../core/generations/follow/eta.js'
import type { Change } from '../../../core/generations/follow/follow.js'
import { holdOf } from '../../../core/generations/follow/hold.js'
import { hasEnded, type Polled } from '../../../core/generations/follow/poll.js'
import { watchRevocations } from '../../../http/shared/authentication.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { createEventStreams, sendEvents } from '../../../http/shared/server-sent-events.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { TextsOfPage } from '../../texts/texts.js'
import { ChangesNow } from './changes.js'
import { ActiveState, Partial, Preview, ProgressBar } from './stage.js'
import { stateNow, stateOf } from './state.js'

const params = z.object({ id: z.string() })
const HOLD_EVERY_MS = 2000
const dataUri = (webp: Buffer) => `data:image/webp;base64,${webp.toString('base64')}`

/** A generation followed live, as fragments of the page. */
export function streamRoutes(app: App, { ports }: WebsiteOptions): void {
  const streams = createEventStreams()
  app.addHook('preClose', async () => streams.endAll())
  const sessionEnded = watchRevocations(app, async (hash) => (await ports.sessions.find(hash))?.caller)

  app.get('/playground/:id/events', { exposeHeadRoute: false, schema: { params } }, async (request, reply) => {
    const { account } = request.caller
    const { id } = request.params
    const stream = streams.open(account.id)
    const rendered = (fragment: VNode) =>
      render(<TextsOfPage.Provider value={request.texts}>{fragment}</TextsOfPage.Provider>)
    const tell = (fragment: VNode) => stream.send('', rendered(fragment))
    const show = (kind: string, fragment: VNode) => stream.sendLatest('', rendered(fragment), kind)

    let shown: Awaited<ReturnType<typeof stateOf>>
    const showState = async (seen: Polled) => {
      const state = await stateOf(ports, request, id, seen)
      shown = state
      if (!hasEnded(seen))
        return tell(
          <Partial of="#job" morph>
            <ActiveState active={state} />
          </Partial>,
        )
      tell(<ChangesNow now={await stateNow(ports, request)} ended={state.generation} urls={ports.images} />)
      stream.end({ event: 'close', data: 'end' })
    }
    const showHold = async () => {
      const { now, hold } = shown
      if (now.status === 'queued' && (await holdOf(ports.estimates, now.work.filename)) !== hold?.hold)
        await showState(now)
    }
    const showChange = async (change: Change) => {
      if (change.kind === 'preview') {
        const { generation } = first
        const preview = <Preview of={generation} image={dataUri(change.image)} />
        return show('preview', <Partial of="#preview">{preview}</Partial>)
      }
      if (change.kind !== 'progress') return showState(change.now)
      const { now } = change
      show(
        'progress',
        <Partial of="#progress" morph>
          <ProgressBar now={now} eta={await etaSeconds(ports.estimates, now)} />
        </Partial>,
      )
    }
    let first: Awaited<ReturnType<typeof stateOf>>
    try {
      first = await stateOf(ports, request, id)
      await showState(first.now)
    } catch (error) {
      stream.destroy()
      throw error
    }
    // One after the other: what is read for one must not overtake the next. What failed is told anew to whoever connects anew.
    let told = Promise.resolve()
    const next = (show: () => Promise<void>) => {
      told = told.then(show).catch((err) => {
        request.log.warn({ err }, 'a stream of the playground was broken off')
        stream.end('reconnect')
      })
    }
    const follow = () => ports.following.follow(first.now, true, (change) => next(() => showChange(change)))
    if (!hasEnded(first.now)) {
      stream.once('close', follow())
      // Nothing tells when a server comes or goes, or an operator pauses.
      const looks = setInterval(() => next(showHold), HOLD_EVERY_MS).unref()
      stream.once('close', () => clearInterval(looks))
    }
    sessionEnded(request, reply).addEventListener('abort', () => stream.end({ event: 'signed-out', data: 'end' }))
    return sendEvents(reply, stream)
  })
}
