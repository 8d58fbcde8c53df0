import type { App } from './fastify-app.js'

/** Notes the methods of each route declared after it, in any scope, for the `Allow` of a 405. */
export function noteMethods(app: App): void {
  const methods = new Map<string, { readonly pattern: RegExp; readonly allowed: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    // Only `:name` parameters: no route has another kind.
    const pattern = new RegExp(`^${url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+')}$`)
    const noted = methods.get(url) ?? { pattern, allowed: new Set() }
    methods.set(url, noted)
    for (const one of [method].flat()) noted.allowed.add(one)
  })
  app.decorate('methodsOf', (path) => {
    const matching = [...methods.values()].filter(({ pattern }) => pattern.test(path))
    return [...new Set(matching.flatMap(({ allowed }) => [...allowed]))].sort()
  })
}
