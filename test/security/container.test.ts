import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const linesOf = (file: string) =>
  readFileSync(join(ROOT, file), 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.trim().startsWith('#'))

describe('the container image', () => {
  const lines = linesOf('Dockerfile')
  const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')))
  const argumentsOf = (instruction: string, within = lines) =>
    within.filter((line) => line.startsWith(`${instruction} `)).map((line) => line.slice(instruction.length + 1))

  it('runs without root', () => {
    // A number: Kubernetes cannot tell whether a name is root's.
    expect(argumentsOf('USER', last)).toEqual(['1000'])
    // Nothing that is started comes before the change of user.
    const user = last.findIndex((line) => line.startsWith('USER '))
    expect(last.findIndex((line) => line.startsWith('CMD '))).toBeGreaterThan(user)
    expect(argumentsOf('CMD', last)).toEqual(['["node", "dist/server.js"]'])
  })

  it('lets its user write only where volumes are mounted, not to the code', () => {
    // And its group 0, in which are users that a cluster chooses.
    expect(lines.filter((line) => /\bch(own|grp|mod)\b/.test(line))).toEqual([
      '  && chmod +x dist/cli.js \\',
      '  && chown 1000:0 /data/* \\',
      '  && chmod g=u /data/*',
    ])
  })

  it('installs exactly the packages of the lock file, without those for development', () => {
    const installs = lines.filter((line) => /\bnpm\b/.test(line) && !line.includes('npm run'))
    expect(installs).toEqual(['RUN npm ci --ignore-scripts', 'RUN npm ci --omit=dev --ignore-scripts \\'])
    expect(argumentsOf('COPY', last).filter((what) => what.includes('node_modules'))).toEqual([
      '--from=dependencies /app/node_modules ./node_modules',
    ])
  })

  it('starts from one official image and fetches nothing else', () => {
    for (const image of argumentsOf('FROM')) expect(image).toMatch(/^node:\d+-[a-z]+-slim( AS \w+)?$/)
    expect(new Set(argumentsOf('FROM').map((image) => image.split(' ')[0])).size).toBe(1)
    expect(argumentsOf('ADD')).toEqual([])
    expect(lines.filter((line) => /curl|wget|https?:\/\/(?!127\.0\.0\.1)/.test(line))).toEqual([])
  })

  it('holds no secret: it sets none, and copies nothing but what the build needs', () => {
    // Of the commit, which is no secret.
    expect(argumentsOf('ARG')).toEqual(['EASEL_COMMIT'])
    expect(argumentsOf('ENV')).toEqual([
      'NODE_ENV=production HOST=0.0.0.0 STORAGE_URL=file:/data/images',
      'NODE_OPTIONS=--max-semi-space-size=8',
      'EASEL_COMMIT=$EASEL_COMMIT',
    ])
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

  it('has a health check', () => {
    expect(lines.join('\n')).toMatch(/^HEALTHCHECK .*\\\n.*\/health/m)
  })
})
