/** The samples of README.md and docs/api.md; `npm run generate` writes them anew. */
import { readFileSync } from 'node:fs'
import { samplesOf, submitSample } from '../../src/web/parts/samples.js'

const ORIGIN = 'http://localhost:3000'
const url = (path: string) => `${ORIGIN}/api/v1${path}`

/** Relative to the root of the repository. */
export const DOCUMENTS = ['README.md', 'docs/api.md'] as const
export const urlOf = (document: string) => new URL(`../../${document}`, import.meta.url)

const json = { contentType: 'application/json' }
const SAMPLES: Readonly<Record<string, string>> = {
  submit: submitSample(ORIGIN, 1).curl,
  poll: samplesOf({ ...json, method: 'GET', url: url('/generate/gen_4c6t…'), body: undefined }).curl,
  webhook: samplesOf({ ...json, method: 'POST', url: url('/webhooks'), body: { url: 'https://example.com/easel' } })
    .curl,
}

/** The document with what belongs below each `<!-- sample: name -->`. */
export const withSamples = (document: string): string =>
  readFileSync(urlOf(document), 'utf8').replace(
    /^(<!-- sample: (\w+) -->\n```sh\n).*?(?=\n```$)/gms,
    (_, start: string, name: string) => start + SAMPLES[name],
  )
