import { readFileSync } from 'node:fs'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { OpenAPI3 } from 'openapi-typescript'
import { beforeAll, describe, expect, it } from 'vitest'
import { useService } from '../../support/service.js'

const context = useService({ env: { BASE_URL: 'https://easel.example' } })
let description: OpenAPI3
const documents = new Map<string, OpenAPI3>()

beforeAll(async () => {
  for (const path of ['/openapi.json', '/admin/v1/openapi.json'])
    documents.set(path, await (await fetch(`${context.service.url}${path}`)).json())
  description = documents.get('/openapi.json') as OpenAPI3
})

describe.each([
  ['/openapi.json', 'openapi.json'],
  ['/admin/v1/openapi.json', 'admin-openapi.json'],
])('%s', (path, file) => {
  let description: OpenAPI3
  beforeAll(() => {
    description = documents.get(path) as OpenAPI3
  })

  it('is an OpenAPI 3.1 description that a linter has nothing to say about', async () => {
    const config = await createConfig({ extends: ['recommended'] })
    const problems = await lintFromString({ source: JSON.stringify(description), config })
    expect(problems.map(({ message, location }) => `${message} at ${location[0]?.pointer}`)).toEqual([])
  })

  it('gives defaults and examples that its own schemas accept', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, useDefaults: false })
    ajv.addSchema({ ...description, $id: 'api' })
    const refused: string[] = []
    const visit = (node: unknown, pointer: string): void => {
      if (node === null || typeof node !== 'object') return
      const { default: fallback, examples } = node as { default?: unknown; examples?: unknown }
      const values = [...(fallback === undefined ? [] : [fallback]), ...(Array.isArray(examples) ? examples : [])]
      for (const value of values)
        if (!ajv.validate({ $ref: `api#${pointer}` }, value)) refused.push(`${pointer}: ${ajv.errorsText()}`)
      for (const [key, child] of Object.entries(node))
        if (key !== 'examples')
          visit(child, `${pointer}/${encodeURIComponent(key.replace(/~/g, '~0').replace(/\//g, '~1'))}`)
    }
    visit({ paths: description.paths, components: description.components }, '')
    expect(refused).toEqual([])
  })

  it('is the file in docs/ that `npm run generate` writes anew when the API has changed', () => {
    expect(description).toEqual(JSON.parse(readFileSync(new URL(`../../../docs/${file}`, import.meta.url), 'utf8')))
  })
})

describe('/openapi.json', () => {
  it('names the headers that only some operations have', () => {
    type Operations = Record<string, Record<string, { responses: Record<number, { headers?: object }> }>>
    const paths = description.paths as unknown as Operations
    const headers = (path: string, method: string, status: number) =>
      Object.keys(paths[path]?.[method]?.responses[status]?.headers ?? {})
    expect(headers('/api/v1/generate', 'post', 201)).toContain('X-Credits-Remaining')
    expect(headers('/api/v1/generate', 'post', 429)).toEqual(
      expect.arrayContaining(['X-Active-Generation', 'Location']),
    )
    expect(headers('/api/v1/generate/{id}', 'get', 200)).toEqual(
      expect.arrayContaining(['Retry-After', 'X-Eta-Seconds']),
    )
    expect(headers('/v1/images/generate', 'post', 202)).toContain('Webhook-Secret')
  })
})

describe('/llms.txt', () => {
  it('names every endpoint that is described, and where the whole description is', async () => {
    const answer = await fetch(`${context.service.url}/llms.txt`)
    const text = await answer.text()
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(text).toMatch(/^# Easel\n\n> /)
    expect(text).toContain('https://easel.example/openapi.json')
    const named = [...text.matchAll(/^- `([A-Z]+) (\S+)`: \S.*\.$/gm)].map(([, method, path]) => `${method} ${path}`)
    const described = Object.entries(description.paths ?? {}).flatMap(([path, item]) =>
      Object.keys(item)
        .filter((key) => key !== 'servers')
        .map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(named.sort()).toEqual(described.sort())
  })
})
