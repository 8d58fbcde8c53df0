/** Each file under deploy/ is read by the program that it is for, where that is installed. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { adaptCaddyfile, startCaddy } from '../support/caddy.js'
import { findCaddy, findShellcheck } from '../support/programs.js'
import { startSwitchableServer } from '../support/switchable-server.js'
import { until } from '../support/until.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Only these: what else a developer has set must not count. */
const { PATH, HOME, DOCKER_CONFIG } = process.env

const run = (command: string, args: readonly string[], env: Record<string, string> = {}) =>
  promisify(execFile)(command, args, { cwd: ROOT, env: { PATH, HOME, DOCKER_CONFIG, ...env } })

/** Whether a command is there; if not, one line says which check that leaves out. */
async function has(what: string, command: string, ...args: string[]): Promise<boolean> {
  const isThere = await run(command, args).then(
    () => true,
    () => false,
  )
  if (!isThere)
    process.stderr.write(`${[command, ...args].join(' ')} does not work here: ${what} is not checked by it.\n`)
  return isThere
}

const directory = await mkdtemp(join(tmpdir(), 'easel-caddy-'))
afterAll(() => rm(directory, { recursive: true, force: true }))

const compose = await has('each compose file', 'docker', 'compose', 'version')
const hadolint = await has('the Dockerfile', 'hadolint', '--version')
const shellcheck = await findShellcheck()
const caddy = await findCaddy(directory)

const MAIN = { POSTGRES_PASSWORD: 'one', EASEL_PASSWORD: 'two' }
const MAIN_HOST = { ...MAIN, PRIVATE_ADDRESS: '10.8.0.1' }
const GPU_HOST = {
  ...{ MAIN_HOST: '10.8.0.1', SITE_ADDRESS: 'easel.example', EASEL_PASSWORD: 'two' },
  ...{ UPLOAD_SECRET: 'three', MODELS: '/srv/models' },
}
const GPU_FILE = 'deploy/gpu-host/docker-compose.yml'

describe.skipIf(!compose)('docker compose', () => {
  const config = (files: readonly string[], env: Record<string, string>, ...more: string[]) => {
    const options = files.flatMap((file) => ['-f', file])
    return run('docker', ['compose', '--env-file', '/dev/null', ...options, '--profile', '*', 'config', ...more], env)
  }

  it.each([
    ['the main host', ['docker-compose.yml'], MAIN],
    ['the main host of GPU hosts', ['docker-compose.yml', 'deploy/gpu-host/main-host.yml'], MAIN_HOST],
    ['a GPU host', [GPU_FILE], GPU_HOST],
  ])('takes the file of %s', async (_name, files, env) => {
    expect(await config(files, env, '--quiet')).toEqual({ stdout: '', stderr: '' })
  })

  it.each([
    ...Object.keys(MAIN).map((name) => ['docker-compose.yml', name, MAIN] as const),
    ...Object.keys(GPU_HOST).map((name) => [GPU_FILE, name, GPU_HOST] as const),
  ])('refuses %s if %s is not set', async (file, name, env) => {
    const sentence = `copy .env.example to .env and set ${name}`
    await expect(config([file], { ...env, [name]: '' }, '--quiet')).rejects.toThrow(sentence)
  })

  it.each([
    [{}, 'http://localhost:3000'],
    [{ PORT: '8080' }, 'http://localhost:8080'],
    [{ SITE_ADDRESS: 'easel.example' }, 'https://easel.example'],
    [{ SITE_ADDRESS: 'easel.example', BASE_URL: 'https://other.example' }, 'https://other.example'],
  ])('derives the public address from %j', async (env, baseUrl) => {
    const { stdout } = await config(['docker-compose.yml'], { ...MAIN, ...env }, '--format', 'json')
    expect(JSON.parse(stdout).services.server.environment.BASE_URL).toBe(baseUrl)
  })
})

describe.skipIf(!caddy)('caddy', () => {
  const adapt = (env: Record<string, string>) => adaptCaddyfile(caddy as string, directory, env)

  /** Behind it, a server that can go away and one that stays: each reads the whole request and says its name. */
  async function startProxy() {
    const answering = (name: string) =>
      startSwitchableServer(async (request, response) => {
        await buffer(request)
        response.end(name)
      })
    const servers = [await answering('first'), await answering('second')] as const
    const proxy = await startCaddy(caddy as string, directory, [servers[0].url, servers[1].url])
    onTestFinished(async () => {
      await proxy.stop()
      for (const server of servers) await server.refuse()
    })
    return { proxy, servers }
  }

  it('takes the Caddyfile with several proxies in front, written as Easel takes them', async () => {
    const { stderr } = await adapt({ SITE_ADDRESS: ':8000', TRUST_PROXY: '10.0.0.0/8, 192.168.0.0/16,fd00::/8' })
    expect(stderr).not.toContain('not formatted')
  })

  it('takes the Caddyfile with TRUST_PROXY=false, Easel’s default', async () => {
    await adapt({ SITE_ADDRESS: ':8000', TRUST_PROXY: 'false' })
  })

  it('refuses /internal/ and hands everything else to the servers', async () => {
    const { config } = await adapt({ SITE_ADDRESS: ':8000', TRUST_PROXY: '127.0.0.1/32' })
    const routes = config.apps.http.servers.srv1?.routes ?? []
    const paths = routes.map(({ match }) => match?.[0]?.path?.[0] ?? 'everything')
    expect(paths.filter((path) => path !== '/cdn/*')).toEqual(['/internal/*', 'everything'])
  })

  it('lets private addresses alone to /internal/, and not what another proxy passes on', async () => {
    const { proxy } = await startProxy()
    const statusOf = async (path: string, headers: Record<string, string> = {}) =>
      (await fetch(`${proxy.url}${path}`, { headers })).status
    expect(await statusOf('/internal/uploads')).toBe(200)
    const passedOn = [
      ...['X-Forwarded-For', 'x-real-ip', 'CF-Connecting-IP'].map((name) => ({ [name]: '10.0.0.1' })),
      ...[
        { Forwarded: 'for=10.0.0.1' },
        { Via: '1.1 proxy' },
        { 'X-Forwarded-Proto': 'https' },
        { 'X-Forwarded-Host': 'x' },
      ],
    ]
    for (const headers of passedOn) {
      for (const path of [
        '/internal/uploads',
        '/%69nternal/uploads/check',
        '//internal/uploads',
        '/internal%2Fuploads',
        '/INTERNAL/x',
      ])
        expect([headers, await statusOf(path, headers)]).toEqual([headers, 404])
      expect(await statusOf('/health', headers)).toBe(200)
    }
  })

  it('takes no server for dead because of a client’s broken request', async () => {
    const { proxy } = await startProxy()
    const attack = async () => {
      const socket = connect(proxy.port, '127.0.0.1').on('error', () => undefined)
      socket.write(`POST / HTTP/1.1\r\nHost: 127.0.0.1:${proxy.port}\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`)
      await once(socket.resume(), 'close')
    }
    let done = false
    const attacking = Array.from({ length: 4 }, async () => {
      while (!done) await attack()
    })
    await Promise.all([attack(), attack(), attack(), attack()])
    const others: Response[] = []
    while (others.length < 30) others.push(await fetch(proxy.url))
    done = true
    await Promise.all(attacking)
    expect(others.map(({ status }) => status)).toEqual(Array(30).fill(200))
  })

  it('sends whoever finds a server dead to the other', async () => {
    const { proxy, servers } = await startProxy()
    const ask = async () => {
      const answer = await fetch(proxy.url)
      return [answer.status, await answer.text()]
    }
    const many = () => Promise.all(Array.from({ length: 30 }, ask))
    expect(new Set((await many()).map(String))).toEqual(new Set(['200,first', '200,second']))
    await servers[0].refuse()
    expect(await many()).toEqual(Array(30).fill([200, 'second']))
    await servers[0].accept()
    await until(async () => (await ask())[1] === 'first', 'a request for the one that is back')
    expect(new Set((await many()).map(String))).toEqual(new Set(['200,first', '200,second']))
  })
})

it.skipIf(!shellcheck)('shellcheck finds nothing in our scripts', async () => {
  await run('shellcheck', ['deploy/upgrade', 'deploy/caddy/caddy', 'deploy/kubernetes/apply'])
})

it.skipIf(!hadolint)('hadolint finds nothing in the Dockerfile', async () => {
  await run('hadolint', ['Dockerfile'])
})
