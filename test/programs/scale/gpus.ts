/**
 * GPU servers that only wait, in a process of their own: each speaks OpenAI's image API, takes a fixed time for an image
 * and answers with one that was drawn before. It knows for how long each was asked for an image.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import { drawImage } from '../../stand-ins/a1111/images.js'

export interface GpusSetup {
  readonly models: readonly string[]
  readonly secondsPerImage: number
}

/** Of all servers together, since they were started. */
export interface GpuWork {
  /** Milliseconds with a request for an image, those under way included. */
  readonly busyMs: number
  readonly drawn: number
  /** When it was counted, on the clock of the process. */
  readonly at: number
}

type Report = { readonly port: number } | GpuWork

/** Also where the tests run it. */
const TSX = { execArgv: ['--import', 'tsx'] }

export type Gpus = Awaited<ReturnType<typeof startGpus>>

/** Starts the process. */
export async function startGpus(setup: GpusSetup) {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), ['gpus', JSON.stringify(setup)], TSX)
  const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }]
  const query = new URLSearchParams([
    ...SAMPLERS.map((sampler) => ['sampler', sampler]),
    ...[
      ['max_seed', '4294967295'],
      ['size_multiple', '8'],
    ],
  ])
  return {
    /** As an entry of INFERENCE_URL: any number is a server. */
    urlOf: (n: number) => `openai+http://127.0.0.1:${port}/${n}/v1?${query}`,
    async work(): Promise<GpuWork> {
      child.send('work')
      const [work] = (await once(child, 'message')) as [GpuWork]
      return work
    },
    stop: () => void child.kill('SIGKILL'),
  }
}

function serve({ models, secondsPerImage }: GpusSetup): void {
  const report = (what: Report) => process.send?.(what)
  const images = new Map<string, Promise<string>>()
  const underWay = new Set<number>()
  let endedMs = 0
  let drawn = 0
  const listing = JSON.stringify({ object: 'list', data: models.map((id) => ({ id, object: 'model' })) })

  const answerOf = (size: string): Promise<string> => {
    const [width = 0, height = 0] = size.split('x').map(Number)
    const draw = async () => {
      const png = await drawImage({ width, height, key: size, parameters: '', look: 'finished' })
      return JSON.stringify({ data: [{ b64_json: png.toString('base64') }] })
    }
    const answer = images.get(size) ?? draw()
    images.set(size, answer)
    return answer
  }

  const generate = async (request: IncomingMessage, response: ServerResponse) => {
    const begunAt = performance.now()
    underWay.add(begunAt)
    try {
      let body = ''
      for await (const chunk of request) body += chunk
      const answer = await answerOf(JSON.parse(body).size)
      await delay(secondsPerImage * 1000 - (performance.now() - begunAt))
      response.setHeader('content-type', 'application/json').end(answer)
      drawn++
    } finally {
      underWay.delete(begunAt)
      endedMs += performance.now() - begunAt
    }
  }

  const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
    if (request.method === 'POST') void generate(request, response)
    else if (request.url?.endsWith('/models')) response.setHeader('content-type', 'application/json').end(listing)
    else response.writeHead(404).end('{}')
  })
  process.on('disconnect', () => process.exit())
  process.on('message', () => {
    const at = performance.now()
    const busyMs = [...underWay].reduce((sum, begunAt) => sum + at - begunAt, endedMs)
    report({ busyMs, drawn, at })
  })
  server.listen(0, '127.0.0.1', 4096, () => report({ port: (server.address() as AddressInfo).port }))
}

if (process.argv[2] === 'gpus') serve(JSON.parse(process.argv[3] ?? ''))
