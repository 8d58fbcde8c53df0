import { beforeAll, describe, expect, it } from 'vitest'
import { newEndpointId, newWebhookSecret } from '../../../src/core/webhooks/webhook.js'
import { imageRemovals } from '../../../src/db/images/removals.js'
import { webhookEndpointStore } from '../../../src/db/webhooks/endpoints.js'
import { givenOperator, givenSession } from '../../support/given-sign-in.js'
import { givenGeneration, givenUser, MODEL } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { givenEndedGeneration, standInWorker } from '../../support/stand-in-worker.js'
import { textOf, visit } from '../../support/website-client.js'

const context = useService()
const HOSTILE = '</p><script>alert(1)</script> & "quotes"'
let operator: Awaited<ReturnType<typeof givenOperator>>

beforeAll(async () => {
  operator = await givenOperator(context.service.db)
})

const see = (path: string) => visit(context.service.url, path, { cookie: operator.cookie })
const pathOf = ({ id }: { readonly id: string }) => `/operator/generations/${id}`

describe('the page of a generation', () => {
  it('shows how it stands, and offers to cancel it or, if it has failed, to run it again', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    const generation = await givenGeneration(db, user)
    const path = pathOf(generation)
    const queued = await see(path)
    expect(textOf(queued.html)).toContain(`ID${generation.id}Account${user.username}Submitted throughPersonal API`)
    expect(queued.html).toContain(`action="${path}/cancel"`)
    const worker = standInWorker(db)
    await worker.fail(await worker.claim(), 'The GPU ran out of memory.')
    const failed = await see(path)
    expect(textOf(failed.html)).toContain('The GPU ran out of memory.')
    expect(textOf(failed.html)).toContain('Backendstand-in:stand-in')
    expect(failed.html).toContain(`action="${path}/run-again"`)
    const succeeded = await givenEndedGeneration(db, user)
    expect((await see(pathOf(succeeded))).html).not.toContain('Run again')
    for (const id of ['gen_nothing', '%00', `gen_${'0'.repeat(26)}`])
      expect((await see(`/operator/generations/${id}`)).status).toBe(404)
  })

  it('shows what was asked for: prompt, negative prompt and all parameters', async () => {
    const { db } = context.service
    const asked = { prompt: `a lighthouse\n${HOSTILE}`, negativePrompt: `weeds ${HOSTILE}`, seed: 123456, steps: 33 }
    const generation = await givenEndedGeneration(db, await givenUser(db), {
      ...asked,
      width: 768,
      height: 512,
      cfgScale: 4.5,
    })
    const { html } = await see(pathOf(generation))
    expect(html).not.toContain('<script>alert')
    const text = textOf(html)
    expect(text).toContain(asked.prompt)
    expect(text).toContain(asked.negativePrompt)
    expect(text).toContain('Images1 of 768 × 512Steps33Guidance (CFG)4.5Sampler')
    expect(text).toContain('Seed123456')
    expect(html).toContain(`href="/operator/models/${MODEL.id}"`)
    expect(html).toMatch(/href="\/operator\/users\/[\w-]+#key-[0-9a-f-]{36}"/)
  })

  it('tells its story: submit, charge, attempts, what was given back, and webhooks without their path', async () => {
    const { db } = context.service
    const user = await givenUser(db, { credits: 10 })
    const generation = await givenGeneration(db, user, { requestId: 'req-7' })
    const endpoint = { url: 'https://hooks.test/s3cret', description: '', events: ['generation.failed'] as const }
    const endpoints = webhookEndpointStore(db, newEndpointId, async () => undefined)
    await endpoints.create(user.id, { ...endpoint, id: newEndpointId(), secret: newWebhookSecret() }, 10)
    const worker = standInWorker(db)
    await worker.fail(await worker.claim(), 'The model broke.')
    const { html } = await see(pathOf(generation))
    const text = textOf(html)
    const events = [
      'submitted through the Personal API with the personal key, request req-7',
      '1 credit charged, the account has 9',
      'attempt 1 starts on stand-in:, worker stand-in',
      'attempt 1 fails after',
      '1 credit given back, the account has 10',
      'webhook generation.failed to https://hooks.test: pending',
    ]
    const places = events.map((event) => text.indexOf(event))
    expect(places).not.toContain(-1)
    expect([...places].sort((one, other) => one - other)).toEqual(places)
    expect(html).not.toContain('s3cret')
  })

  it('shows its images, takes one down with a reason, and says which were removed and why', async () => {
    const { db, url } = context.service
    const generation = await givenEndedGeneration(db, await givenUser(db), { batchSize: 3 })
    const [first, second, third] = generation.slugs as [string, string, string]
    await imageRemovals(db).remove(second, 'asked for <b>removal</b>')
    const path = pathOf(generation)
    const { html } = await see(path)
    for (const slug of [first, third]) expect(html).toContain(`href="/image/${slug}"`)
    expect(html).not.toContain(`/image/${second}`)
    expect(html).toContain('asked for &lt;b>removal&lt;/b>')
    const body = { image: third, generation: generation.id, reason: 'shows a real person' }
    const sent = await visit(url, '/operator/images', { cookie: operator.cookie, body })
    expect(sent).toMatchObject({ status: 303, location: `${path}?done=removed` })
    const after = textOf((await see(sent.location as string)).html)
    expect(after).toContain('The image is removed.')
    expect(after).toMatch(/Number 3 was removed, .*: shows a real person/)
    expect(after).toContain('image 3 is removed')
  })

  it('is for operators only, also its prompt', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    const generation = await givenGeneration(db, user)
    const seen = await visit(url, pathOf(generation), { cookie: await givenSession(db, user) })
    expect(seen.status).toBe(404)
    expect(seen.html).not.toContain(generation.prompt)
    const body = { reason: 'the end' }
    await visit(url, `${pathOf(generation)}/cancel`, { cookie: operator.cookie, body })
  })
})
