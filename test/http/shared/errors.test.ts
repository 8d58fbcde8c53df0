import type { FastifyRequest } from 'fastify'
import { afterAll, describe, expect, it } from 'vitest'
import { toAppError } from '../../../src/http/shared/error-responses.js'
import { call, expectCreateError, expectPersonalError, PROMPT } from '../../support/client.js'
import { type FaultProxy, startFaultProxy } from '../../support/fault-proxy.js'
import { chargesOf, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { createTestDatabase } from '../../support/services.js'
import { until } from '../../support/until.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })

describe('an error that nobody foresaw', () => {
  it('is a 500 in each interface’s own shape that shows nothing of the inside, and leaves no trace', async () => {
    const { db, url } = context.service
    const { key, id } = await givenUser(db)
    const post = (path: string, body: unknown) => call(url, 'POST', path, { key, body })
    await db.pool.query('ALTER TABLE credit_ledger ADD CONSTRAINT never CHECK (false) NOT VALID')
    try {
      const sentence = /^Internal server error\. Try again; if it stays, report the x-request-id of this answer\.$/
      expectPersonalError(await post('/api/v1/generate', PROMPT), 500, sentence)
      expectCreateError(await post('/v1/images/generate', { prompt: 'x' }), 500, 'internal_error', sentence)
    } finally {
      await db.pool.query('ALTER TABLE credit_ledger DROP CONSTRAINT never')
    }
    expect(await chargesOf(db, { id })).toEqual([])
    expect(await post('/api/v1/generate', PROMPT)).toMatchObject({ status: 201 }) // no lock was left behind
  })
})

describe('while Postgres is away', () => {
  let proxy: FaultProxy
  const away = useService(async () => {
    const { url } = await createTestDatabase()
    proxy = await startFaultProxy(url)
    return { env: { DATABASE_URL: proxy.through(url), RATE_LIMIT_MAX: '1000' } }
  })
  afterAll(() => proxy.close())

  it('every request gets a 503 that says when to come back, and the service heals by itself', async () => {
    const { url } = away.service
    const { key } = await givenUser(context.service.db) // well-formed, and unknown here
    const account = () => call(url, 'GET', '/api/v1/account', { key })
    expect(await account()).toMatchObject({ status: 401 })
    await proxy.refuse()
    // More than the server has connections.
    const answers = await Promise.all(Array.from({ length: 30 }, account))
    for (const answer of answers) {
      expectPersonalError(answer, 503, /^The service is temporarily unavailable\. Try again in a moment\.$/)
      expect(answer.headers.get('retry-after')).toBe('5')
    }
    await proxy.pass()
    await until(async () => (await account()).status === 401, 'the answer of a service that works')
  })
})

describe('an error', () => {
  const codeOf = (thrown: unknown) => toAppError(thrown, {} as FastifyRequest).code
  const causingItself = () => {
    const own = new Error('secret detail')
    return Object.assign(own, { cause: own })
  }
  const error = (facts: object, message = 'secret detail') => Object.assign(new Error(message), facts)

  it.each([
    ['of a server that refuses connections', error({ code: 'ECONNREFUSED' })],
    ['of a connection that broke', error({ code: 'ECONNRESET' })],
    ['of Postgres shutting down', error({ code: '57P01' })],
    ['of Postgres without room for another connection', error({ code: '53300' })],
    ['of a statement that took too long', error({ code: '57014' })],
    ['of a lock that was not to be had', error({ code: '55P03' })],
    ['of a pool that is used up', error({}, 'timeout exceeded when trying to connect')],
    ['of a Redis that hangs', error({}, 'Command timed out')],
    ['of a socket file that is not there', error({ code: 'ENOENT', syscall: 'connect' })],
    ['of a network that is gone', error({ code: 'ENETUNREACH' })],
    ['of a Redis that loads its data', error({}, 'LOADING Redis is loading the dataset in memory')],
    ['of sentinels that are away', error({}, 'All sentinels are unreachable. Retrying from scratch after 100ms.')],
    ['of a name with several addresses', new AggregateError([error({ code: 'ENETUNREACH' })])],
    [
      'of such a name, as Drizzle wraps it',
      new Error('Failed query', { cause: new AggregateError([error({ code: 'ECONNREFUSED' })]) }),
    ],
    ['of a list of which one is none', new AggregateError([new Error('?'), error({ code: 'EHOSTUNREACH' })])],
    ['whose cause is one of these', new Error('Failed query', { cause: error({ code: 'ECONNREFUSED' }) })],
  ])('%s is an outage', (_name, thrown) => {
    expect(codeOf(thrown)).toBe('unavailable')
  })

  it.each([
    ['of the program', new TypeError('x is not a function')],
    ['of Postgres about the statement', error({ code: '42601' })],
    ['that is no Error', 'boom'],
    ['that is nothing at all', undefined],
    ['that lists errors of the program', new AggregateError([new TypeError('x is not a function')])],
    ['that causes itself', causingItself()],
  ])('%s is internal, and its text is not shown', (_name, thrown) => {
    const { code, message } = toAppError(thrown, {} as FastifyRequest)
    expect(code).toBe('internal')
    expect(message).toMatch(/^Internal server error\./)
  })

  it('of a client that hung up amid its body is the client’s, not an outage', () => {
    expect(codeOf(error({ code: 'ECONNRESET', statusCode: 400 }, 'aborted'))).toBe('invalid_request')
  })
})
