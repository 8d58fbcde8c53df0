import type { OpenAPIV3_1 } from 'openapi-types'

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

/** The API for language models that read /llms.txt (llmstxt.org): what one needs to call it, and every endpoint in a line. */
export function llmsText({ info, tags = [], paths = {}, servers = [] }: OpenAPIV3_1.Document): string {
  const [server] = servers
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item?.[method]
      return operation ? [{ path, method: method.toUpperCase(), ...operation }] : []
    }),
  )
  const sections = tags.map(({ name, description }) => {
    const lines = operations
      .filter(({ tags: [tag] = [] }) => tag === name)
      .map(({ method, path, summary, description: more }) => `- \`${method} ${path}\`: ${summary}. ${more}`)
    return lines.length === 0 ? '' : `## ${name}\n\n${description}.\n\n${lines.join('\n')}\n`
  })
  return `# ${info.title}

> ${info.summary}. ${info.description}

Base address: ${server?.url}. Send the header \`Authorization: Bearer <API_KEY>\`. Bodies are JSON. Errors are one sentence in
\`error\` (on Create Image in \`error.message\`), with a stable code in the header \`X-Error-Code\`; after a 429 or 503 wait for
\`Retry-After\` seconds. To make a picture: GET /api/v1/models, POST /api/v1/generate with the \`id\` of one as
\`model_version_id\` and an \`Idempotency-Key\`, then GET the \`poll_url\` until \`status\` is \`succeeded\` or \`failed\`.

The full description, with every field and bound: [OpenAPI 3.1](${server?.url}/openapi.json).

${sections.filter(Boolean).join('\n')}`
}
