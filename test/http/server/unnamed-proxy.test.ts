import { pino } from 'pino'
import { expect, it } from 'vitest'
import { startServer } from '../../../src/process/start-server.js'
import { useService } from '../../support/service.js'

const context = useService()

/** What the log says of a proxy once clients of one have asked twice. */
async function saidOf(trustedProxies: readonly string[], headers: Record<string, string>) {
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) })
  const { config, namespace } = context.service
  const server = await startServer({ ...config, trustedProxies: [...trustedProxies] }, log, {
    namespace: `${namespace}-${crypto.randomUUID()}`,
  })
  for (let n = 0; n < 2; n++) await fetch(`${server.url}/health`, { headers })
  await server.stop()
  return lines.filter((line) => line.includes('TRUST_PROXY'))
}

it('a proxy that TRUST_PROXY does not name is told of once', async () => {
  const said = await saidOf([], { 'x-forwarded-for': '198.51.100.7' })
  expect(said).toHaveLength(1)
  expect(said[0]).toContain('a proxy at 127.0.0.1 names its clients')
  expect(await saidOf(['10.0.0.0/8'], { 'x-forwarded-for': '198.51.100.7' })).toHaveLength(1)
})

it('nothing is said of one that it names, nor of clients without a proxy', async () => {
  expect(await saidOf(['127.0.0.1'], { 'x-forwarded-for': '198.51.100.7' })).toEqual([])
  expect(await saidOf([], {})).toEqual([])
})
