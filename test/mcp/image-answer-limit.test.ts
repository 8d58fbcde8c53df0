import { fastify } from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import { imageAnswerLimit } from '../../src/mcp/call-limits.js'
import { until } from '../support/until.js'

/** A server whose answers hold images until they are let go, in the two steps of an answer. */
async function givenServer(patience = 60_000) {
  const images = imageAnswerLimit()
  const scaling: { readonly account: string; readonly scaled: () => void }[] = []
  const sending: (() => void)[] = []
  const ended: string[] = []
  const app = fastify({ forceCloseConnections: true })
  app.get<{ Params: { account: string } }>('/:account', async (request, reply) => {
    const { account } = request.params
    reply.raw.once('close', () => ended.push(account))
    const done = await images.admit(account, request, reply, patience)
    if (!done) return 'without'
    await new Promise<void>((resolve) => scaling.push({ account, scaled: resolve }))
    done()
    await new Promise<void>((resolve) => sending.push(resolve))
    return 'with'
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => app.close())
  const call = (account: string, signal?: AbortSignal) =>
    fetch(`${url}/${account}`, signal ? { signal } : {}).then((answer) => answer.text())
  return { call, scaling, sending, ended }
}

describe('answers with images', () => {
  it('read and scale four at a time, two of one account, and the accounts take turns', async () => {
    const { call, scaling, sending } = await givenServer()
    const first = ['a', 'a', 'a', 'a', 'a'].map((account) => call(account))
    await until(async () => scaling.length === 2, 'two of the first account')
    const others = ['b', 'c', 'd'].map((account) => call(account))
    await until(async () => scaling.length === 4, 'two of the others')
    const begun: string[] = []
    while (begun.length < 8) {
      await until(async () => scaling.length > 0, 'the next one')
      expect(scaling.length).toBeLessThanOrEqual(4)
      const next = scaling.shift()
      begun.push(next?.account ?? '')
      next?.scaled()
      // An account's fifth answer waits until the client has one of its four.
      await until(async () => sending.length === begun.length, 'the images')
      if (begun.length > 4) for (const send of sending) send()
    }
    for (const send of sending) send()
    expect(await Promise.all([...first, ...others])).toEqual(Array(8).fill('with'))
    expect(begun.indexOf('d')).toBeLessThan(7)
  })

  it('go without them when they have waited long enough', async () => {
    const { call, scaling, sending } = await givenServer(1)
    const held = [call('a'), call('a')]
    await until(async () => scaling.length === 2, 'both')
    expect(await call('a')).toBe('without')
    for (const { scaled } of scaling) scaled()
    await until(async () => sending.length === 2, 'their images')
    for (const send of sending) send()
    expect(await Promise.all(held)).toEqual(['with', 'with'])
  })

  it('give their place back when the client hangs up, while it waits for it too', async () => {
    const { call, scaling, sending, ended } = await givenServer()
    const gone = new AbortController()
    const lost = Array.from({ length: 6 }, () => call('a', gone.signal))
    for (const each of lost) each.catch(() => undefined)
    await until(async () => scaling.length === 2, 'two of six')
    gone.abort()
    await until(async () => ended.length === 6, 'the server to notice')
    for (const { scaled } of scaling.splice(0)) scaled()
    const again = [call('a'), call('a')]
    await until(async () => scaling.length === 2, 'two others')
    for (const { scaled } of scaling) scaled()
    await until(async () => sending.length === 4, 'all images')
    for (const send of sending) send()
    expect(await Promise.all(again)).toEqual(['with', 'with'])
  })
})
