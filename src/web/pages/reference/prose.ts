/** What the document does not say: how the operations belong together. Marks: `code`, **strong** and [link](address). */
export interface Chapter {
  readonly id: string
  readonly heading: string
  readonly blocks: readonly Block[]
}

export type Block =
  | string
  | { readonly list: readonly string[] }
  | { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] }
  | { readonly code: string }

export type Statuses = readonly {
  readonly status: string
  readonly description: string
  readonly codes: readonly string[]
  /** Any operation may answer it. */
  readonly everywhere: boolean
}[]

interface ProseFacts {
  readonly baseUrl: string
  readonly apiBaseUrl: string
  readonly rateLimit: { readonly max: number; readonly windowSeconds: number }
  readonly statuses: Statuses
}

const inCode = (words: readonly string[]) => words.map((word) => `\`${word}\``).join(', ')

export function chapters({ baseUrl, apiBaseUrl, rateLimit: { max, windowSeconds }, statuses }: ProseFacts): Chapter[] {
  const everywhere = statuses.filter((one) => one.everywhere).map(({ status }) => status)
  return [
    {
      id: 'authentication',
      heading: 'Authentication',
      blocks: [
        'Send your API key with every request, in the header `Authorization: Bearer <API_KEY>`, or in `X-API-Key: <API_KEY>` where a program or a proxy needs the other one for itself. [Create a key](/keys) on this website; it is shown once. The samples read it from the environment variable `EASEL_KEY`.',
        {
          list: [
            `The Personal Access API is at \`${baseUrl}/api/v1\`: submit, follow, look back. It needs an active subscription to generate.`,
            `Create Image is at \`${apiBaseUrl}/v1\`: one request, which answers when the image is stored.`,
          ],
        },
        'Whoever has a key spends its credits: keep it on your server, out of web pages and out of version control. A revoked key is refused at once.',
      ],
    },
    {
      id: 'follow',
      heading: 'Follow a generation',
      blocks: [
        'A [submit](#submit-generation) answers at once with an `id` and a `poll_url`. The generation is then `queued`, `processing`, and at last `succeeded` or `failed`. Follow it in one of these ways:',
        {
          list: [
            '**Poll** every 2 to 3 seconds until the status is `succeeded` or `failed`. `Retry-After` says when the next [poll](#poll-generation) is worth it. Send the last `ETag` as `If-None-Match`, and an unchanged state is a 304 without a body.',
            '**Poll long**: `?wait=30` answers as soon as the status or the place changes, and counts as one request.',
            '**Listen** to its [events](#stream-generation-events): status, place, progress, previews and the end.',
            '**Be told**: a [webhook](#webhooks-explained) is called at the end.',
          ],
        },
        'Credits are charged at the submit. What fails or is [canceled](#cancel-generation) is given back by itself.',
      ],
    },
    {
      id: 'errors',
      heading: 'Errors',
      blocks: [
        'Every error is one sentence that says what to do, and has a stable code for programs in the header `X-Error-Code`. The body depends on the interface:',
        {
          code: [
            '// Personal Access API',
            '{"error": "Generation not found: check the ID."}',
            '// Create Image',
            '{"success": false, "error": {"code": "timeout", "message": "…"}}',
            '// Create Image in OpenAI’s shape',
            '{"error": {"message": "…", "type": "…", "param": null, "code": "…"}}',
          ].join('\n'),
        },
        {
          head: ['Status', 'Meaning', '`X-Error-Code`'],
          rows: statuses.map(({ status, description, codes }) => [status, description, inCode(codes)]),
        },
        `Every operation may answer ${everywhere.join(', ')}; further ones are named with each operation. A wrong method is a 405 whose \`Allow\` names the right ones. Quote the \`X-Request-Id\` of an answer when you report a problem.`,
      ],
    },
    {
      id: 'limits',
      heading: 'Limits',
      blocks: [
        {
          list: [
            `${max} requests in any ${windowSeconds} seconds per account on \`/api/v1\`, and as many on \`/v1\`. \`X-RateLimit-Remaining\` says how many are left.`,
            'One active generation per account. The 429 names it in `X-Active-Generation`, and says in `Location` where to poll it.',
            'A body has at most 64 KiB, a prompt at most 2000 characters.',
          ],
        },
        'After a 429 or a 503 wait for the seconds in `Retry-After`, then repeat the request. Bounds, defaults, samplers and prices are listed by [the capabilities](#get-capabilities).',
      ],
    },
    {
      id: 'idempotency',
      heading: 'Repeat safely',
      blocks: [
        'Send an `Idempotency-Key` header with a submit, for instance a random UUID. The same key with the same body gets the first answer again and is charged once, for 24 hours; `Idempotent-Replayed: true` marks the repeat. The same key with another body is a 422; a 409 means that the first request is still under way.',
        'Without that header, Create Image lets a repeat join an earlier request whose client hung up before its answer: the same key, path and body within five minutes get the same generation, once, unless it has failed. Give a request an `Idempotency-Key` of its own to keep it apart.',
      ],
    },
    {
      id: 'lists',
      heading: 'Lists',
      blocks: [
        'Lists come in pages: hand `next_cursor` back as `cursor` until it is null. New entries do not move it.',
      ],
    },
    {
      id: 'webhooks-explained',
      heading: 'Be told by webhook',
      blocks: [
        '[Create an endpoint](#create-webhook) and it is sent your account’s events, signed as [Standard Webhooks](https://www.standardwebhooks.com) has it:',
        {
          head: ['Event', 'When', '`data`'],
          rows: [
            ['`generation.succeeded`', 'A generation of `/api/v1/generate` has its images', 'What a poll answers'],
            ['`image.completed`', 'An image of Create Image is stored', 'The `data` of Create Image'],
            ['`generation.failed`', 'Either has failed', 'What a poll answers'],
          ],
        },
        'Verify the signature with the secret and the raw body. Answer any 2xx within 10 seconds; anything else is tried again for over a day. An event may come twice: its `webhook-id` is the same. A 410 disables the endpoint, and so do three days without a success.',
      ],
    },
    {
      id: 'tools',
      heading: 'Tools',
      blocks: [
        {
          list: [
            `[OpenAPI 3.1](/openapi.json): Postman, Bruno and Insomnia import it by its URL, \`${baseUrl}/openapi.json\`.`,
            '[This page as Markdown](/docs.md), and [in short](/llms.txt), for language models.',
            `OpenAI’s clients work with the base URL \`${apiBaseUrl}/v1\` and your key.`,
            `A client for Node, with types, submits, follows and repeats by itself: \`npm install ${baseUrl}/client.tgz\`, then \`import { createEasel } from 'easel-client'\`.`,
          ],
        },
      ],
    },
  ]
}
