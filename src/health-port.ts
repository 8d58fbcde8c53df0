import { once } from 'node:events'
import { createServer } from 'node:http'

/** Answers `GET /health` (200 while the process is alive) and `GET /ready` (503 unless `ready`) on a port of their own. */
export async function listenForHealth(
  { host, port }: { readonly host: string; readonly port: number },
  ready: () => boolean | Promise<boolean>,
): Promise<{ stop(): Promise<void> }> {
  const server = createServer(async ({ method, url }, response) => {
    const isGet = method === 'GET' || method === 'HEAD'
    const status = isGet && url === '/health' ? 200 : isGet && url === '/ready' ? ((await ready()) ? 200 : 503) : 404
    const body = { 200: { status: 'ok' }, 503: { error: 'Not ready.' }, 404: { error: 'No such endpoint.' } }[status]
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
  })
  server.listen(port, host)
  await once(server, 'listening')
  return {
    async stop() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}
