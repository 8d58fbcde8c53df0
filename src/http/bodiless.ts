import type { App } from './fastify-app.js'

/** For a scope whose requests need no body: whatever one holds, and whatever it says it is, is read and dropped. */
export function dropBodies(scope: App): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null))
}
