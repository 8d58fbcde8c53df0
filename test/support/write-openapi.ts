/** `npm run generate`: writes docs/openapi.json, from which the client's types are made, docs/admin-openapi.json, and the samples of the docs. */
import { writeFileSync } from 'node:fs'
import { buildBareApp } from './bare-app.js'
import { DOCUMENTS, urlOf, withSamples } from './doc-samples.js'

const origin = 'https://easel.example'
const app = await buildBareApp({ baseUrl: origin, apiBaseUrl: origin })
const address = await app.listen({ host: '127.0.0.1', port: 0 })
for (const [path, file] of [
  ['/openapi.json', 'openapi.json'],
  ['/admin/v1/openapi.json', 'admin-openapi.json'],
] as const) {
  const description = await (await fetch(`${address}${path}`)).json()
  writeFileSync(new URL(`../../docs/${file}`, import.meta.url), `${JSON.stringify(description, null, 2)}\n`)
}
await app.close()
for (const document of DOCUMENTS) writeFileSync(urlOf(document), withSamples(document))
