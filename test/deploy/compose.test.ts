/** What the compose files promise, read without an engine. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

interface Service {
  readonly image: string
  readonly restart: string
  readonly networks: readonly string[] | Readonly<Record<string, unknown>>
  readonly ports?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly healthcheck?: { readonly test: unknown; readonly disable?: boolean }
  readonly volumes?: readonly unknown[]
  readonly [key: string]: unknown
}
interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const textOf = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const composeFile = (file: string): ComposeFile => parse(textOf(file), { merge: true })
const networksOf = ({ networks }: Service) => (Array.isArray(networks) ? networks : Object.keys(networks)).sort()

const main = composeFile('docker-compose.yml')
const gpuHost = composeFile('deploy/gpu-host/docker-compose.yml')
const mainHost = composeFile('deploy/gpu-host/main-host.yml')
const all = [main, gpuHost].flatMap(({ services }) => Object.entries(services))

describe('every container', () => {
  it.each(all)('%s has limits and no right that it does not need', (name, service) => {
    expect(service).toMatchObject({
      init: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      pids_limit: expect.any(Number),
      mem_limit: expect.stringMatching(/\d[mg]\}?$/),
      logging: { options: { 'max-size': expect.any(String), 'max-file': expect.any(String) } },
    })
    expect(service.cap_add ?? []).toEqual(name === 'proxy' ? ['NET_BIND_SERVICE'] : [])
    // ComfyUI copies itself to a directory of its own.
    if (name !== 'comfyui') expect(service.read_only).toBe(true)
    for (const taken of ['privileged', 'network_mode', 'pid', 'ipc', 'devices'])
      expect(service).not.toHaveProperty(taken)
    expect(JSON.stringify(service)).not.toContain('docker.sock')
  })

  it.each(all)(
    '%s is pinned to a digest or date, unless its image is an official one, which is mended under its tag',
    (_name, service) => {
      expect(service.image).toMatch(
        /^easel$|^(caddy|postgres|redis):\d+$|-\d{8}$|:v?\d+\.\d+\.\d+@sha256:[0-9a-f]{64}$/,
      )
    },
  )

  it.each(all)('%s restarts after a crash and has a health check, unless it ends by itself', (name, service) => {
    const endsByItself = ['migrate', 'cli', 'bucket'].includes(name)
    expect(service.restart).toBe(endsByItself ? 'no' : 'unless-stopped')
    // `up --wait` fails for a service whose check is disabled.
    expect(service.healthcheck).toMatchObject({ test: expect.anything() })
    expect(service.healthcheck).not.toHaveProperty('disable')
  })
})

describe('the main host', () => {
  const { services, networks } = main

  it('lets the world reach only the proxy, and the host itself also Grafana', () => {
    const published = Object.entries(services).flatMap(([name, { ports = [] }]) =>
      ports.map((port) => `${name} ${port}`),
    )
    expect(published).toEqual([
      `proxy \${PORT:-3000}:80`,
      `proxy \${HTTPS_PORT:-127.0.0.1:3443}:443`,
      `grafana 127.0.0.1:\${GRAFANA_PORT:-3001}:3000`,
    ])
  })

  it('keeps its stores on an internal network without the proxy', () => {
    expect(networks.back).toEqual({ internal: true })
    for (const name of ['postgres', 'redis', 's3'])
      expect(networksOf(services[name] as Service), name).toEqual(['back'])
    expect(networksOf(services.proxy as Service)).toEqual(['front'])
  })

  it('lets servers trust the network of the proxy about addresses, which has only proxy and servers', () => {
    const front = Object.entries(services).filter(([, service]) => networksOf(service).includes('front'))
    expect(front.map(([name]) => name)).toEqual(['proxy', 'server', 'server-2'])
    const subnet = `\${FRONT_SUBNET:-172.31.251.0/24}`
    expect(networks.front).toEqual({ ipam: { config: [{ subnet }] } })
    expect(services.server?.environment?.TRUST_PROXY?.split(',')[0]).toBe(subnet)
  })

  it('has two servers, whose names the proxy knows and which the upgrade replaces one after the other', () => {
    expect(services['server-2']).toEqual(services.server)
    const caddyfile = textOf('deploy/caddy/Caddyfile')
    expect(caddyfile.match(/server[\w-]*:3000/g)).toEqual(Array(2).fill(['server:3000', 'server-2:3000']).flat())
    expect(textOf('deploy/upgrade')).toContain('for service in server server-2 worker; do')
  })

  it('lets the proxy judge servers by /ready alone: with passive checks any client could mark them as down', () => {
    const settings = textOf('deploy/caddy/Caddyfile').replace(/#.*/g, '')
    expect(settings).toContain('health_uri /ready')
    expect(settings).not.toMatch(/fail_duration|max_fails|unhealthy_/)
  })

  it('starts and reloads the proxy by the same script', () => {
    expect(services.proxy?.command).toEqual(['sh', '/etc/caddy/caddy', 'run'])
    expect(textOf('deploy/upgrade')).toContain('exec -T proxy sh /etc/caddy/caddy reload')
  })

  it('lets the proxy read the images, but not write them, as the user who owns them', () => {
    expect(services.proxy?.volumes).toContain('images:/srv/images:ro')
    expect(services.proxy?.user).toBe('1000:1000')
  })

  it('gives only the migration the password of the tables’ owner, and Redis a password', () => {
    const owning = Object.entries(services).filter(([, it]) => JSON.stringify(it).includes('POSTGRES_PASSWORD'))
    expect(owning.map(([name]) => name)).toEqual(['migrate', 'postgres'])
    expect(JSON.stringify(services.redis?.command)).toMatch(/"--requirepass","\$\{EASEL_PASSWORD:\?/)
  })

  it('lets both servers read the site’s own files, and nobody write them', () => {
    for (const { volumes } of [services.server, services['server-2']] as Service[])
      expect(volumes).toEqual(['images:/data/images', './deploy/site:/etc/easel/site:ro,z'])
  })

  it('forbids Redis to evict anything', () => {
    expect(JSON.stringify(services.redis?.command)).toContain('"--maxmemory-policy","noeviction"')
  })

  it('opens its stores to GPU hosts on its private address only', () => {
    const opened = Object.entries(mainHost.services).filter(([, { ports }]) => ports)
    expect(opened.map(([name]) => name)).toEqual(['postgres', 'redis', 's3'])
    for (const [, { ports = [] }] of opened)
      for (const port of ports) expect(port).toMatch(/^\$\{PRIVATE_ADDRESS:\?[^}]+\}:(\d+):\1$/)
  })
})

it('mounts the files of this host with the label that SELinux asks for', () => {
  const mounts = all.flatMap(([, { volumes = [] }]) => volumes).filter((mount) => typeof mount === 'string')
  const ofThisHost = mounts.filter((mount) => /^[./$]/.test(mount))
  expect(ofThisHost).toHaveLength(7)
  for (const mount of ofThisHost) expect(mount).toMatch(/:(ro,)?z$/)
})

describe('a GPU host', () => {
  const worker = gpuHost.services.worker as Service
  const environment = main.services.worker?.environment ?? {}

  it('has the same settings for generations and traces as the worker of the main host', () => {
    const names = Object.keys(environment).filter((name) =>
      /^(REFUND_|INFERENCE_TIMEOUT|AFFINITY_|LOG_|OTEL_)/.test(name),
    )
    expect(names).toHaveLength(9)
    for (const name of names) expect(worker.environment, name).toHaveProperty(name, environment[name])
  })

  it('shows its metrics to Prometheus on the main host, on its private address only', () => {
    expect(worker.ports).toEqual([`\${PRIVATE_ADDRESS:-127.0.0.1}:9464:9464`])
    expect(textOf('deploy/prometheus/prometheus.yml')).toContain('files: [gpu-hosts.yml]')
    expect(textOf('.gitignore').split('\n')).toContain('deploy/prometheus/gpu-hosts.yml')
  })
})

it('no compose file holds a password: all come from .env, and those that are needed have no default', () => {
  const files = ['docker-compose.yml', 'deploy/gpu-host/docker-compose.yml', 'deploy/gpu-host/main-host.yml']
  const lines = files.flatMap((file) => textOf(file).split('\n')).filter((line) => !line.trim().startsWith('#'))
  const secret = /(PASSWORD|SECRET|API_KEY|ACCESS_KEY\w*|_KEY): ?|:\/\/\w*:[^/@]+@|requirepass/
  const secrets = lines.filter((line) => secret.test(line))
  expect(secrets.length).toBeGreaterThan(8)
  for (const line of secrets)
    expect(line).toMatch(/\$\{\w*(PASSWORD|SECRET|KEY)\w*(:\?[^}]+|:-\}?|:-\$\{EASEL_PASSWORD:-\}\})/)
  const needed = ['.env.example', 'deploy/gpu-host/.env.example'].map((file) =>
    textOf(file)
      .split('\n')
      .filter((line) => /^[A-Z_]*(PASSWORD|SECRET)=/.test(line)),
  )
  expect(needed).toEqual([
    ['POSTGRES_PASSWORD=', 'EASEL_PASSWORD='],
    ['EASEL_PASSWORD=', 'UPLOAD_SECRET='],
  ])
})
