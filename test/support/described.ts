import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { ERROR_CODES } from '../../src/core/errors.js'

interface Response {
  readonly headers?: Readonly<Record<string, { readonly schema: { readonly enum?: readonly string[] } }>>
}
type Operations = Readonly<Record<string, { readonly responses: Readonly<Record<string, Response>> }>>

const pathsOf = (file: string): Readonly<Record<string, Operations>> =>
  JSON.parse(readFileSync(new URL(`../../docs/${file}`, import.meta.url), 'utf8')).paths
const paths = { ...pathsOf('openapi.json'), ...pathsOf('admin-openapi.json') }
const patterns = Object.keys(paths).map((path) => ({
  path,
  pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
}))

/** The headers with a meaning of ours; others are HTTP's own affair. */
const OURS = /^(x-(?!powered|content-type-options)[\w-]+|retry-after|location|etag|idempotent-replayed|webhook-secret)$/

function namesOf(headers: globalThis.Response['headers']): string[] {
  const names: string[] = []
  headers.forEach((_, name) => {
    names.push(name)
  })
  return names
}

/** That what was answered is what /openapi.json says can be: every test that sends a request is a test of it, too. */
export function expectDescribed(
  method: string,
  target: string,
  { status, headers }: Pick<globalThis.Response, 'status' | 'headers'>,
): void {
  const path = target.split('?', 1)[0] ?? ''
  const found = patterns.find((it) => it.path === path) ?? patterns.find(({ pattern }) => pattern.test(path))
  const operation = found && paths[found.path]?.[method.toLowerCase()]
  if (!operation) return
  const what = `${method} ${found.path} ${status}`
  const response = operation.responses[status]
  expect(response, `${what} is not described`).toBeDefined()
  const described = Object.keys(response?.headers ?? {}).map((name) => name.toLowerCase())
  const sent = namesOf(headers).filter((name) => OURS.test(name))
  expect(
    sent.filter((name) => !described.includes(name)),
    `headers of ${what} that are not described`,
  ).toEqual([])
  const code = headers.get('x-error-code')
  if (code) expect(response?.headers?.['X-Error-Code']?.schema.enum ?? ERROR_CODES, what).toContain(code)
}
