import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getProxyForUrl } from 'proxy-from-env'
import { getGlobalDispatcher, setGlobalDispatcher } from 'undici'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { isInNoProxyNetwork, proxyFor } from '../../src/lib/no-proxy.js'
import { useProxy } from '../../src/process/proxy.js'
import { freePort } from '../support/free-port.js'

afterEach(() => vi.unstubAllEnvs())

const NO_PROXY = 'localhost, 10.0.0.0/8,fd00::/8 .inside.example,192.168.1.7,300.1.1.1/8,10.0.0.0/99'

describe('a network in NO_PROXY', () => {
  it.each([
    ['10.200.3.4', true],
    ['[fd00::5]', true],
    ['11.0.0.1', false],
    ['[fe00::5]', false],
    // proxy-from-env knows these itself.
    ['192.168.1.7', false],
    ['gpu.inside.example', false],
  ])('has %s in it: %s', (host, isIn) => {
    vi.stubEnv('NO_PROXY', NO_PROXY)
    expect(isInNoProxyNetwork(host)).toBe(isIn)
  })

  it('needs no proxy', () => {
    vi.stubEnv('NO_PROXY', NO_PROXY)
    vi.stubEnv('HTTPS_PROXY', 'http://proxy.example:3128')
    const urls = ['10.1.2.3:9000', '11.1.2.3', 'gpu.inside.example', 'store.example'].map((host) => `https://${host}/`)
    expect(urls.map((url) => proxyFor(url, getProxyForUrl))).toEqual([
      '',
      'http://proxy.example:3128',
      '',
      'http://proxy.example:3128',
    ])
  })

  // The loopback network has more than one address on Linux alone.
  it.skipIf(process.platform !== 'linux')('is reached directly by what names no agent of its own', async () => {
    const before = getGlobalDispatcher()
    onTestFinished(() => setGlobalDispatcher(before))
    const server = createServer((_, response) => response.end('here')).listen(0, '127.0.0.2')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const url = `http://127.0.0.2:${(server.address() as AddressInfo).port}/`
    vi.stubEnv('HTTP_PROXY', `http://127.0.0.1:${await freePort()}`)
    await useProxy(process.env)
    await expect(fetch(url)).rejects.toThrow()
    vi.stubEnv('NO_PROXY', '127.0.0.0/29')
    await useProxy(process.env)
    expect(await (await fetch(url, { headers: { connection: 'close' } })).text()).toBe('here')
  })
})

it.each(['proxy.example:3128', 'socks5://proxy.example:1080'])(
  'a proxy that is no URL of http is refused: %s',
  async (proxy) => {
    await expect(useProxy({ HTTPS_PROXY: proxy })).rejects.toThrow('must be URLs, like http://proxy.example:3128.')
  },
)

it('a proxy with a scheme in capitals is taken', async () => {
  const before = getGlobalDispatcher()
  onTestFinished(() => setGlobalDispatcher(before))
  await useProxy({ HTTPS_PROXY: 'HTTP://proxy.example:3128' })
  expect(getGlobalDispatcher()).not.toBe(before)
})
