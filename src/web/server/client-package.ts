import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { App } from '../../http/shared/fastify-app.js'

const pathTo = (path: string) => fileURLToPath(new URL(path, import.meta.url))
/** As `npm run build` has made it, beside a bundle of the server or above this file. */
const BUILT = ['./client.tgz', '../../client.tgz'].map(pathTo).find((path) => existsSync(path))

/** The TypeScript client as a package, for `npm install https://…/client.tgz`. */
export function clientPackageRoute(app: App): void {
  let reading: Promise<Buffer> | undefined
  app.get('/client.tgz', async (_request, reply) => {
    reading ??= (BUILT ? readFile(BUILT) : packed()).catch((error) => {
      reading = undefined
      throw error
    })
    return reply
      .header('cache-control', 'public, max-age=300')
      .type('application/gzip')
      .send(await reading)
  })
}

/** In a checkout that was not built, npm makes it when it is first asked for: the same bytes for the same source. */
async function packed(): Promise<Buffer> {
  const directory = await mkdtemp(join(tmpdir(), 'easel-client-'))
  try {
    await promisify(execFile)('npm', ['pack', '--pack-destination', directory], { cwd: pathTo('../../client/') })
    const [file = ''] = await readdir(directory)
    return await readFile(join(directory, file))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
