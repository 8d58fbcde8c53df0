/**
 * Compiles the scripts that tests run as processes, once per run and only if a test asks: a run of one file mostly
 * needs none of them.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { compile } from './compile.js'

export interface Compiler {
  /** `GET` answers with the directory of the compiled scripts, or 500 with the reason. */
  readonly url: string
  /** The sources have changed: the next who asks gets them compiled anew. */
  forget(): void
  close(): Promise<void>
}

/** @param directory where the compiled scripts go */
export async function startCompiler(directory: string): Promise<Compiler> {
  let compiled: Promise<void> | undefined
  const target = join(directory, 'compiled')
  const server = createServer((_request, response) => {
    compiled ??= compile(target)
    compiled.then(
      () => response.end(target),
      (error) => response.writeHead(500).end(String(error)),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    forget: () => (compiled = undefined),
    async close() {
      await compiled?.catch(() => undefined)
      server.closeAllConnections()
      server.close()
    },
  }
}
