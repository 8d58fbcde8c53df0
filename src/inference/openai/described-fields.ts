import { z } from 'zod'
import type { ServerHttp } from '../server-http.js'
import { parsedJson } from '../server-reply.js'

const description = z.object({
  paths: z.record(
    z.string(),
    z.object({
      post: z
        .object({
          requestBody: z.object({
            content: z.object({ 'application/json': z.object({ schema: z.object({ $ref: z.string() }) }) }),
          }),
        })
        .optional()
        .catch(undefined),
    }),
  ),
  components: z.object({
    schemas: z.record(z.string(), z.object({ properties: z.record(z.string(), z.unknown()).optional() })),
  }),
})

/**
 * The fields that a server's description of its API, `/openapi.json`, lists for an image; none where it has no such
 * description. vLLM-Omni and SGLang have one, and take other fields in each version; every server ignores unknown ones.
 * @param root the server's API without `/v1`
 */
export async function describedFields(root: ServerHttp, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const { status, text } = await root.get('/openapi.json', signal)
  const said = status === 200 ? parsedJson(text, description) : undefined
  const [, path] = Object.entries(said?.paths ?? {}).find(([name]) => name.endsWith('/images/generations')) ?? []
  const name = path?.post?.requestBody.content['application/json'].schema.$ref.replace(/^.*\//, '') ?? ''
  return new Set(Object.keys(said?.components.schemas[name]?.properties ?? {}))
}
