import { fastify } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { afterEach, describe, expect, it } from 'vitest'
import { accountStore } from '../../../src/db/accounts/accounts.js'
import { modelStore } from '../../../src/db/catalog/models.js'
import { backendAbilities } from '../../../src/db/generations/backends.js'
import { cancelStore } from '../../../src/db/generations/end.js'
import { durationEstimates, queuePositions } from '../../../src/db/generations/estimates.js'
import { postgresProgressBoard } from '../../../src/db/generations/live-boards.js'
import { generationWatch, pollStore } from '../../../src/db/generations/poll.js'
import { submissionStore } from '../../../src/db/generations/submit/charged.js'
import { idempotencyStore } from '../../../src/db/generations/submit/idempotency.js'
import { unansweredStore } from '../../../src/db/generations/submit/unanswered.js'
import { createImageApi } from '../../../src/http/create-image-api/plugin.js'
import { webpOf, zipOf } from '../../../src/images/image-downloads.js'
import { createImageStore } from '../../../src/images/open-image-store.js'
import { withInfotext } from '../../../src/images/png-text.js'
import { createModerator } from '../../../src/moderation/create-moderator.js'
import { noActiveGenerationLock } from '../../../src/redis/active-generation-lock.js'
import { localSlidingWindow } from '../../../src/redis/sliding-window.js'
import { call } from '../../support/client.js'
import { chargesOf, type GivenUser, givenUser, rowOf } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { until, within } from '../../support/until.js'

const context = useService()
const worker = () => standInWorker(context.service.db)
const create = (url: string, { key }: GivenUser, signal?: AbortSignal) =>
  call(url, 'POST', '/v1/images/generate', {
    key,
    body: { prompt: 'x' },
    headers: { 'idempotency-key': 'k' },
    ...(signal && { signal }),
  })
const charged = (owner: GivenUser) =>
  until(async () => (await chargesOf(context.service.db, owner)).length === 1, 'the charge')

describe('a server that is stopped while a Create Image client waits', () => {
  it('takes no new connections, but serves the waiting client to the end', async () => {
    const { db, server } = context.service
    const owner = await givenUser(db)
    const second = await server()
    const waiting = create(second.url, owner)
    const claimed = await worker().claim()
    const stopped = second.stop()
    await until(
      () =>
        call(second.url, 'GET', '/health').then(
          () => false,
          () => true,
        ),
      'the closed door',
    )
    await worker().succeed(claimed)
    const answer = await waiting
    expect(answer).toMatchObject({ status: 200, body: { success: true } })
    expect(answer.headers.get('connection')).toBe('close')
    await stopped
  })
})

describe('a server that is stopped after a Create Image client hung up', () => {
  it('does not wait for the image, and the generation stays in the queue', async () => {
    const { db, server } = context.service
    const owner = await givenUser(db)
    // A server that waited would do so until the test fails.
    const second = await server({ waitersMs: 600_000 })
    const hangUp = new AbortController()
    const left = expect(create(second.url, owner, hangUp.signal)).rejects.toThrow(/abort/)
    await charged(owner)
    hangUp.abort()
    await left
    await within(60_000, second.stop(), 'the server')
    const claimed = await worker().claim()
    expect(claimed.accountId).toBe(owner.id)
    await worker().succeed(claimed)
  })
})

describe('a server that must leave', () => {
  const open: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of open.splice(0)) await close()
  })

  /** Create Image as start-server.ts wires it, but told to leave by the test instead of 25 s after SIGTERM. */
  async function startLeavable() {
    const { db, config } = context.service
    const leaving = new AbortController()
    const images = await createImageStore(config)
    const watch = generationWatch(db, config.databaseListenUrl, () => undefined)
    const ports = {
      models: modelStore(db),
      moderator: createModerator({}),
      refusedPrompts: { note: () => undefined },
      lock: noActiveGenerationLock,
      submissions: submissionStore(db),
      abilities: backendAbilities(db),
      idempotency: idempotencyStore(db),
      unanswered: unansweredStore(db),
      queue: { enqueue: async () => true, withdraw: async () => undefined },
      cancels: cancelStore(db),
      watch,
      polls: pollStore(db),
      positions: queuePositions(db),
      progress: postgresProgressBoard(db),
      estimates: durationEstimates(db),
      webhooks: expect as never, // no request here names a webhook_url
      images,
      files: { read: images.read, withInfotext, zipOf, webpOf },
      timeLeft: async () => undefined,
      generationDeadlineSeconds: 3600,
    }
    const counter = localSlidingWindow()
    const app = fastify()
    app.setValidatorCompiler(validatorCompiler)
    app.setSerializerCompiler(serializerCompiler)
    await app.register(createImageApi, {
      prefix: '/v1',
      ports,
      authentication: { accounts: accountStore(db), guesses: counter, keyPrefix: 'easel' },
      limit: { counter, max: 1000, windowSeconds: 10 },
      timeoutSeconds: 120,
      leaving: leaving.signal,
    })
    open.push(
      () => app.close(),
      () => watch.close(),
    )
    return { url: await app.listen({ port: 0 }), leave: () => leaving.abort() }
  }

  it.each(['queued', 'processing'] as const)(
    'answers its waiting clients with a 503; their %s generation goes on',
    async (status) => {
      const { db, url } = context.service
      const owner = await givenUser(db)
      const leavable = await startLeavable()
      const waiting = create(leavable.url, owner)
      await charged(owner)
      const claimed = status === 'processing' ? await worker().claim() : undefined
      leavable.leave()
      const answer = await waiting
      expect(answer.status).toBe(503)
      expect(answer.body).toEqual({
        success: false,
        error: {
          code: 'unavailable',
          message: expect.stringMatching(
            /^This server is restarting\. Generation gen_\w+ goes on and its image will be saved/,
          ),
          retry_after: 2,
        },
      })
      expect(answer.headers.get('retry-after')).toBe('2')

      // Another server takes the repeat, and nothing was lost or paid twice.
      const repeat = create(url, owner)
      const running = claimed ?? (await worker().claim())
      expect(await rowOf(db, running)).toMatchObject({ user_id: owner.id, status: 'processing' })
      await worker().succeed(running)
      expect(await repeat).toMatchObject({ status: 200, body: { data: { image_id: running.slugs[0] } } })
      expect(await chargesOf(db, owner)).toEqual([['charge', -1]])
    },
  )
})
