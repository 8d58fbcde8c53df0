import { once } from 'node:events'
import { createServer } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { startServer } from '../../src/process/start-server.js'
import { describeInBrowser, useBrowser } from '../support/browser.js'
import { silentLog, useService } from '../support/service.js'

const context = useService()
const browser = useBrowser()

/** What many programs leave in a browser: a service worker that shows their page whatever the server answers. */
const ANSWERS: Readonly<Record<string, readonly [type: string, text: string]>> = {
  '/': ['text/html', '<title>x</title><script src="/start.js"></script>'],
  '/start.js': ['text/javascript', `navigator.serviceWorker.register('/service-worker.js')`],
  '/service-worker.js': [
    'text/javascript',
    `addEventListener('activate', () => clients.claim())
    addEventListener('fetch', (event) => {
      if (event.request.mode !== 'navigate') return
      const headers = { 'content-type': 'text/html' }
      event.respondWith(new Response('<title>The earlier app</title>', { headers }))
    })`,
  ],
}

describeInBrowser('where another program was before', () => {
  it('its service worker ends, and Easel is seen', async () => {
    const earlier = createServer(({ url = '/' }, response) => {
      const [type, text] = ANSWERS[url] ?? ['text/plain', '']
      response.writeHead(200, { 'content-type': type, connection: 'close' }).end(text)
    }).listen(0, '127.0.0.1')
    await once(earlier, 'listening')
    const { port } = earlier.address() as { port: number }
    const baseUrl = `http://127.0.0.1:${port}`
    const { page } = await browser.open(baseUrl)
    await page.goto('/')
    await page.evaluate('navigator.serviceWorker.ready.then(() => undefined)')
    await page.goto('/')
    expect(await page.title()).toBe('The earlier app')
    earlier.closeAllConnections()
    await new Promise((resolve) => earlier.close(resolve))

    const { config, namespace } = context.service
    const running = await startServer({ ...config, port, baseUrl }, silentLog(), { namespace })
    onTestFinished(() => running.stop())
    await page.goto('/')
    await page.getByRole('link', { name: 'Sign in' }).first().waitFor()
    await page.goto('/')
    await page.getByRole('link', { name: 'Sign in' }).first().waitFor()
    expect(await page.evaluate('navigator.serviceWorker.getRegistrations().then((all) => all.length)')).toBe(0)
  })
})
