import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const linesOf = (file: string) =>
  readFileSync(join(ROOT, file), 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.trim().startsWith('#'))

describe('the image', () => {
  const lines = linesOf('Dockerfile')
  const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')))
  const argumentsOf = (instruction: string, within = lines) =>
    within.filter((line) => line.startsWith(`${instruction} `)).map((line) => line.slice(instruction.length + 1))

  it('runs without root', () => {
    expect(argumentsOf('USER', last)).toEqual(['node'])
    // Nothing that is started comes before the change of user.
    const user = last.findIndex((line) => line.startsWith('USER '))
    expect(last.findIndex((line) => line.startsWith('CMD '))).toBeGreaterThan(user)
    expect(argumentsOf('CMD', last)).toEqual(['["node", "dist/server.js"]'])
  })

  it('owns nothing of its code: only the directory of images is the user’s', () => {
    expect(lines.filter((line) => line.includes('chown'))).toEqual(['  && chown node:node /data/images'])
  })

  it('installs exactly what the lock file says, without what only development needs', () => {
    const installs = lines.filter((line) => /\bnpm\b/.test(line) && !line.includes('npm run'))
    expect(installs).toEqual(['RUN npm ci --ignore-scripts', 'RUN npm ci --omit=dev --ignore-scripts'])
    expect(argumentsOf('COPY', last).filter((what) => what.includes('node_modules'))).toEqual([
      '--from=dependencies /app/node_modules ./node_modules',
    ])
  })

  it('starts from a named version and fetches nothing else', () => {
    for (const image of argumentsOf('FROM')) expect(image).toMatch(/^node:\d+-[a-z]+-slim( AS \w+)?$/)
    expect(argumentsOf('ADD')).toEqual([])
    expect(lines.filter((line) => /curl|wget|https?:\/\/(?!127\.0\.0\.1)/.test(line))).toEqual([])
  })

  it('holds no secret: none is set, and nothing is copied but what the build needs', () => {
    expect(argumentsOf('ARG')).toEqual([])
    expect(argumentsOf('ENV')).toEqual(['NODE_ENV=production HOST=0.0.0.0 STORAGE_URL=file:/data/images'])
    expect(linesOf('.dockerignore')).toEqual([
      '*',
      '!package.json',
      '!package-lock.json',
      '!tsconfig.json',
      '!tsconfig.build.json',
      '!src',
      '!migrations',
      '!docs/openapi.json',
    ])
    expect(linesOf('.gitignore')).toContain('.env')
  })

  it('says by itself whether it is alive', () => {
    expect(lines.join('\n')).toMatch(/^HEALTHCHECK .*\\\n.*\/health/m)
  })
})

describe('the compose file', () => {
  const lines = linesOf('docker-compose.yml')
  /** The lines below the key, which are indented further. */
  const below = (key: string, within: readonly string[] = lines): string[] => {
    const at = within.findIndex((line) => line.trim().replace(/ &\w+$/, '') === `${key}:`)
    if (at < 0) throw new Error(`there is no ${key}`)
    const depth = (line: string) => line.length - line.trimStart().length
    const rest = within.slice(at + 1)
    const end = rest.findIndex((line) => depth(line) <= depth(within[at] ?? ''))
    return rest.slice(0, end < 0 ? undefined : end)
  }
  const services = below('services')
  const names = services.filter((line) => /^ {2}\w+:$/.test(line)).map((line) => line.trim().slice(0, -1))
  const ours = ['migrate', 'server', 'worker', 'cli']

  it('knows these services', () => {
    expect(names).toEqual(['postgres', 'redis', ...ours])
  })

  it.each(ours)('takes root’s powers and the file system’s writing from %s', (name) => {
    expect(below(name, services)).toContain('    <<: *easel')
    const shared = below('x-easel').map((line) => line.trim())
    for (const line of [
      'read_only: true',
      'cap_drop: [ALL]',
      "security_opt: ['no-new-privileges:true']",
      'init: true',
      "tmpfs: ['/tmp:noexec,nosuid,nodev,size=64m']",
      'pids_limit: 256',
      'mem_limit: 2g',
    ])
      expect(shared).toContain(line)
    // Nothing of its own takes that back.
    const forbidden =
      /^(user|privileged|cap_add|read_only|security_opt|devices|network_mode|pid|ipc|volumes|tmpfs|pids_limit|mem_limit):/
    expect(below(name, services).filter((line) => forbidden.test(line.trim()))).toEqual([])
  })

  it('lets the world reach the server alone', () => {
    const published = names.filter((name) => below(name, services).some((line) => line.trim().startsWith('ports:')))
    expect(published).toEqual(['server'])
    expect(lines.filter((line) => /network_mode|docker\.sock/.test(line))).toEqual([])
  })

  it('holds no password: it comes from the environment and has no default', () => {
    const secrets = lines.filter((line) => /password|api_key/i.test(line))
    expect(secrets.length).toBeGreaterThan(2)
    for (const line of secrets)
      expect(line).toMatch(/\$\{(POSTGRES|EASEL)_PASSWORD:\?[^}]+\}|\$\{MODERATION_API_KEY:-\}/)
    const asked = linesOf('.env.example').filter((line) => /PASSWORD|KEY/.test(line))
    expect(asked).toEqual(['POSTGRES_PASSWORD=', 'EASEL_PASSWORD='])
  })

  it('lets only the migration be the owner of the tables, and nobody into Redis without a password', () => {
    const owning = names.filter((name) => below(name, services).some((line) => line.includes('POSTGRES_PASSWORD')))
    expect(owning).toEqual(['postgres', 'migrate'])
    expect(below('redis', services).join()).toMatch(/--requirepass, '\$\{EASEL_PASSWORD:\?/)
  })

  it('has a health check of its own for whatever keeps running', () => {
    for (const name of ['postgres', 'redis', 'worker'])
      expect(below(name, services).join()).toMatch(/healthcheck:,\s+test:/)
    expect(below('server', services).join()).not.toContain('healthcheck')
  })

  it('lets Redis forget nothing of its own accord', () => {
    expect(below('redis', services).join()).toContain('--maxmemory-policy, noeviction')
  })
})
