import { describe, expect, it } from 'vitest'
import { failureOf, givenBackend, givenHttp } from './given.js'

describe('a connection that the server keeps', () => {
  it('is used for the next question, and one that it has just closed fails none', async () => {
    const { standIn, generate } = await givenBackend()
    const http = givenHttp(standIn.inferenceUrl)
    const { signal } = new AbortController()
    const asked = () => standIn.journal.filter(({ path }) => path === '/queue').length
    for (let i = 0; i < 9; i++) await http.get('/queue', signal)
    expect(standIn.connections()).toBeLessThan(4)
    standIn.set({ fault: 'drop', on: 'GET /queue', times: 1 })
    expect(await http.get('/queue', signal)).toMatchObject({ status: 200 })
    expect(asked()).toBe(11)
    expect(await generate()).toHaveLength(1)
  })

  it('never carries what must not arrive twice', async () => {
    const { standIn } = await givenBackend()
    const http = givenHttp(standIn.inferenceUrl)
    const { signal } = new AbortController()
    await http.get('/queue', signal)
    standIn.set({ fault: 'drop', on: 'POST /prompt' })
    expect((await failureOf(http.post('/prompt', {}, signal))).kind).toBe('lost')
    expect(standIn.asked()).toHaveLength(1)
    expect(standIn.journal.at(-1)?.headers.connection).toBe('close')
  })
})
