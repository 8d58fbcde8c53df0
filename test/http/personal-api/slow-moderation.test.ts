import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { call, PROMPT } from '../../support/client.js'
import { givenGeneration, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'

let meanwhile = async (): Promise<unknown> => undefined
const moderation = createServer(async (_request, response) => {
  await meanwhile()
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ results: [{ flagged: false }] }))
})
const context = useService(async () => {
  await new Promise<void>((resolve) => moderation.listen(0, '127.0.0.1', resolve))
  return { env: { MODERATION_URL: `http://127.0.0.1:${(moderation.address() as AddressInfo).port}` } }
})
afterAll(() => moderation.close())

it('a submit is not refused for an active generation that ended while moderation took long', async () => {
  const { db, url } = context.service
  const owner = await givenUser(db)
  const { id } = await givenGeneration(db, owner)
  meanwhile = async () => {
    const end = "UPDATE generations SET status = 'failed', error = 'over', finished_at = now() WHERE id = $1"
    await db.pool.query(end, [id])
    await delay(1000) // so long is what was read before moderation good for
  }
  expect(await call(url, 'POST', '/api/v1/generate', { key: owner.key, body: PROMPT })).toMatchObject({ status: 201 })
})
