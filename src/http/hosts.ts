import type { App } from './fastify-app.js'

const DEFAULT_PORT: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }

/** Routes declared after this in the scope answer on the host of `url` alone. */
export function onlyOnHost(app: App, url: string): void {
  const { hostname, port, protocol } = new URL(url)
  const name = hostname.replace(/[.[\]]/g, '\\$&')
  // A default port may be spelled out or not.
  const host = new RegExp(port ? `^${name}:${port}$` : `^${name}(:${DEFAULT_PORT[protocol]})?$`, 'i')
  app.addHook('onRoute', (route) => {
    route.constraints = { ...route.constraints, host }
  })
}
