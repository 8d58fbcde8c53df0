/** The proxy of compose: Caddy with our Caddyfile, in front of servers on this machine. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from './free-port.js'
import { until } from './until.js'

/** Who owns nothing. */
const NOBODY = 65_534
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

interface CaddyConfig {
  readonly apps: { readonly http: { readonly servers: Readonly<Record<string, CaddyServer>> } }
}
interface CaddyServer {
  readonly listen: readonly string[]
  readonly routes: readonly { readonly match?: readonly { readonly path?: readonly string[] }[] }[]
}

/** Only these: what else a developer has set must not count. */
const surroundings = (program: string, directory: string) => ({
  PATH: `${dirname(program)}:${process.env.PATH}`,
  HOME: directory,
  XDG_CONFIG_HOME: directory,
  XDG_DATA_HOME: directory,
})

/**
 * What Caddy makes of the Caddyfile with these variables, and what it says about it.
 * @param directory where it may write
 */
export async function adaptCaddyfile(program: string, directory: string, env: Readonly<Record<string, string>>) {
  const { stdout, stderr } = await promisify(execFile)('sh', ['deploy/caddy/caddy', 'adapt', '--validate'], {
    cwd: ROOT,
    env: { ...surroundings(program, directory), ...env },
  })
  return { config: JSON.parse(stdout) as CaddyConfig, stderr }
}

/**
 * Resolves once it serves. It also speaks HTTP/2 without TLS.
 * @param images the directory of the images that it serves itself; it may then read there what all may read, even if root runs this
 */
export async function startCaddy(
  program: string,
  directory: string,
  servers: readonly [string, string],
  images?: string | undefined,
) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const own = await mkdtemp(join(directory, 'run-'))
  const { config } = await adaptCaddyfile(program, directory, { SITE_ADDRESS: url, TRUST_PROXY: 'false' })
  const site = Object.values(config.apps.http.servers).find(({ listen }) => listen.includes(`:${port}`))
  const admin = { disabled: true, config: { persist: false } }
  const apps = { http: { servers: { easel: { ...site, protocols: ['h1', 'h2', 'h2c'] } } } }
  const [first, second] = servers.map((server) => new URL(server).host) as [string, string]
  const text = JSON.stringify({ admin, apps })
    .replaceAll('server:3000', first)
    .replaceAll('server-2:3000', second)
    .replaceAll('/srv/images', images ?? '/srv/images')
  await writeFile(join(own, 'caddy.json'), text)
  const isRoot = process.getuid?.() === 0
  const reader = images && isRoot ? { uid: NOBODY, gid: NOBODY } : {}
  if (images) for (const each of [directory, own, images]) await chmod(each, 0o755)
  const running = spawn(program, ['run', '--config', 'caddy.json'], {
    ...{ cwd: own, ...reader },
    env: surroundings(program, directory),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  running.stderr.on('data', (data) => (log += data))
  const ended = once(running, 'exit')
  await until(
    () =>
      fetch(`${url}/health`).then(
        ({ status }) => status === 200,
        () => false,
      ),
    'Caddy serves',
  )
  return {
    url,
    port,
    /** How often it has found that this server is ready again. */
    returns: (server: string) =>
      log.split('\n').filter((it) => it.includes('host is up') && it.includes(server)).length,
    /** What it could not do, and which servers came and went. */
    complaints: () => log.split('\n').filter((it) => /"level":"(warn|error)"|host is (up|down)/.test(it)),
    async stop() {
      running.kill('SIGKILL')
      await ended
    },
  }
}
