import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DOCUMENTS, urlOf, withSamples } from '../../support/doc-samples.js'
import { givenUser } from '../../support/givens.js'
import { findProgram } from '../../support/programs.js'
import { useService } from '../../support/service.js'

const context = useService({ worker: true, env: { RATE_LIMIT_MAX: '50', INFERENCE_URL: 'preview:' } })
const run = promisify(execFile)
const hasRequests = await run('python3', ['-c', 'import requests']).then(
  () => true,
  () => false,
)
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'easel-samples-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** What a program prints for somebody who has a key. */
async function printed(command: string, source: string, key?: string) {
  const file = join(folder, `draw-${source.length}`)
  await writeFile(file, source.replaceAll('http://localhost:3000', context.service.url))
  const env = { ...process.env, EASEL_KEY: key ?? (await givenUser(context.service.db)).key }
  return (await run(command, [file], { env, timeout: 120_000 })).stdout
}

const textOf = (document: string) => readFileSync(urlOf(document), 'utf8')
const inDocs = (document: string, pattern: RegExp): string => pattern.exec(textOf(document))?.[1] ?? ''

it.each(DOCUMENTS)('%s shows the samples as they are made (`npm run generate` writes them)', (document) => {
  expect(textOf(document)).toBe(withSamples(document))
  expect(textOf(document)).toContain('<!-- sample: submit -->')
})

describe('a sample of the docs submits a prompt and prints what came of it', () => {
  it.each(DOCUMENTS)('in curl, as %s shows it, followed by its poll', async (document) => {
    if (!findProgram('curl')) return
    const { key } = await givenUser(context.service.db)
    const submit = inDocs(document, /<!-- sample: submit -->\n```sh\n(.*?)```/s)
    const { id } = JSON.parse(await printed('sh', submit, key))
    const poll = inDocs(document, /<!-- sample: poll -->\n```sh\n(.*?)```/s)
    expect(JSON.parse(await printed('sh', poll.replace('gen_4c6t…', id), key))).toMatchObject({ id })
  })
  it.skipIf(!hasRequests)('in Python, as docs/api.md shows it', async () => {
    expect(await printed('python3', inDocs('docs/api.md', /```python\n(import os.*?)```/s))).toContain(
      "'status': 'succeeded'",
    )
  })
})
