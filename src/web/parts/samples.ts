import type { ModelStore } from '../../core/catalog/model-version.js'

/**
 * The same program in three languages; the key is in the environment variable EASEL_KEY. All samples of the website and
 * the docs are made here.
 */
export interface Samples {
  readonly curl: string
  readonly python: string
  readonly typescript: string
}

export const LANGUAGES = [
  ['curl', 'curl', 'sh'],
  ['python', 'Python', 'python'],
  ['typescript', 'TypeScript', 'ts'],
] as const satisfies readonly (readonly [language: keyof Samples, name: string, fence: string])[]

interface SampleRequest {
  readonly method: string
  readonly url: string
  readonly body: object | undefined
  /** Of the answer. */
  readonly contentType: string | undefined
}

/** A program that makes one request and prints its answer. */
export const samplesOf = (request: SampleRequest): Samples => ({
  curl: curl(request),
  python: python(request),
  typescript: typescript(request),
})

const firstBody = (modelVersionId: number) => ({ prompt: 'a lighthouse at dusk', model_version_id: modelVersionId })

/** The first program of who begins. */
export const firstPrograms = (baseUrl: string, modelVersionId: number): Samples =>
  wholePrograms(baseUrl, oneLine(firstBody(modelVersionId)))

/** The first request to make. */
export const submitSample = (baseUrl: string, modelVersionId: number): Samples =>
  samplesOf({
    method: 'POST',
    url: `${baseUrl}/api/v1/generate`,
    body: firstBody(modelVersionId),
    contentType: 'application/json',
  })

function curl({ method, url, body, contentType }: SampleRequest): string {
  const options = [
    ...(contentType === 'text/event-stream' ? ['-N'] : []),
    ...(contentType === 'image/png' ? ['-o image.png'] : []),
    ...(method === (body ? 'POST' : 'GET') ? [] : [`-X ${method}`]),
  ]
  return [
    ['curl -sS', ...options, url].join(' '),
    '-H "Authorization: Bearer $EASEL_KEY"',
    ...(body ? ['-H "Content-Type: application/json"', `-d '${quotable(body)}'`] : []),
  ].join(' \\\n  ')
}

/** In single quotes a shell changes nothing; a quote itself is written outside of them. */
function quotable(body: object): string {
  const line = oneLine(body)
  return (line.length > 100 ? JSON.stringify(body, null, 2) : line).replaceAll("'", `'\\''`)
}

function python({ method, url, body, contentType }: SampleRequest): string {
  const streams = contentType === 'text/event-stream'
  const prints: Readonly<Record<string, string>> = {
    'application/json': 'print(answer.json())',
    'text/event-stream': 'for line in answer.iter_lines(decode_unicode=True):\n    print(line)',
    'image/png': 'open("image.png", "wb").write(answer.content)',
  }
  return [
    'import os, requests\n',
    `answer = requests.${method.toLowerCase()}(`,
    `    "${url}",`,
    `    headers={"Authorization": f"Bearer {os.environ['EASEL_KEY']}"},`,
    ...(body ? [`    json=${oneLine(body)},`] : []),
    ...(streams ? ['    stream=True,'] : []),
    ')',
    prints[contentType ?? ''] ?? 'print(answer.status_code)',
  ].join('\n')
}

function typescript({ method, url, body, contentType }: SampleRequest): string {
  const prints: Readonly<Record<string, string>> = {
    'application/json': 'console.log(await answer.json())',
    'text/event-stream':
      'const text = answer.body?.pipeThrough(new TextDecoderStream()) ?? []\nfor await (const part of text) console.log(part)',
    'image/png':
      "const { writeFile } = await import('node:fs/promises')\nawait writeFile('image.png', new Uint8Array(await answer.arrayBuffer()))",
  }
  const key = `authorization: \`Bearer \${process.env.EASEL_KEY}\``
  return [
    `const answer = await fetch('${url}', {`,
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(body
      ? ['  headers: {', `    ${key},`, "    'content-type': 'application/json',", '  },']
      : [`  headers: { ${key} },`]),
    ...(body
      ? [
          `  body: JSON.stringify(${oneLine(body)
            .replace(/"(\w+)":/g, '$1:')
            .replaceAll('"', "'")}),`,
        ]
      : []),
    '})',
    prints[contentType ?? ''] ?? 'console.log(answer.status)',
  ].join('\n')
}

const oneLine = (body: object): string =>
  `{${Object.entries(body)
    .map(([name, value]) => `"${name}": ${JSON.stringify(value)}`)
    .join(', ')}}`

/**
 * Whole programs: submit, poll until the end, print the image's address or why there is none.
 * @param request the body as JSON, quoted for a shell in `curl`; or a mark that the playground's script replaces by it
 */
export const wholePrograms = (baseUrl: string, request: string): Samples => ({
  curl: `api=${baseUrl}/api/v1
auth="Authorization: Bearer $EASEL_KEY"

job=$(curl -sS $api/generate -H "$auth" \\
  -H "Content-Type: application/json" \\
  -d '${request}')
id=$(echo "$job" |
  grep -o 'gen_[0-9a-z]*' | head -n 1)

while echo "$job" |
  grep -qE '"(queued|processing)"'; do
  sleep 2.5
  job=$(curl -sS $api/generate/$id -H "$auth")
done
echo "$job"`,
  python: `import os, time, requests

http = requests.Session()
http.headers["Authorization"] = \\
    f"Bearer {os.environ['EASEL_KEY']}"

def ask(method, path, **request):
    answer = http.request(
        method, "${baseUrl}/api/v1" + path,
        timeout=60, **request)
    if not answer.ok:
        raise SystemExit(answer.json()["error"])
    return answer.json()

job = ask("POST", "/generate", json=${request})
while job["status"] in ("queued", "processing"):
    time.sleep(2.5)
    job = ask("GET", f"/generate/{job['id']}")

if job["status"] == "failed":
    raise SystemExit(job["error"])
print(job["output"]["images"][0]["url"])`,
  typescript: `const api = '${baseUrl}/api/v1'
const headers = {
  authorization: \`Bearer \${process.env.EASEL_KEY}\`,
  'content-type': 'application/json',
}

async function ask(path = '/', request = {}) {
  const answer = await fetch(api + path, {
    headers,
    ...request,
  })
  const result = await answer.json()
  if (!answer.ok) throw new Error(result.error)
  return result
}

let job = await ask('/generate', {
  method: 'POST',
  body: JSON.stringify(${request}),
})
while (['queued', 'processing'].includes(job.status)) {
  await new Promise((done) => setTimeout(done, 2500))
  job = await ask(\`/generate/\${job.id}\`)
}

if (job.status === 'failed') throw new Error(job.error)
console.log(job.output.images[0].url)`,
})

/** The ID that samples draw with: the default model's. Pages that need no Postgres get that of a fresh catalog without it. */
export const sampleModelId = async (models: Pick<ModelStore, 'findDefault'>): Promise<number> =>
  (await models.findDefault().catch(() => undefined))?.id ?? 1
