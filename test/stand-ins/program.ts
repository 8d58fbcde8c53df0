import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

export interface ProgramOptions {
  readonly port: number
  readonly latencyMs: number
  readonly models?: readonly string[]
  readonly auth?: string
  /** Which of the servers that the stand-in can be, if it can be several. */
  readonly as?: string
}

interface Started {
  readonly url: string
  readonly close: () => Promise<void>
}

/** Runs a stand-in as a program if its file is what Node was started with: prints its URL, and ends on a signal. */
export async function runAsProgram(fileUrl: string, start: (options: ProgramOptions) => Promise<Started>) {
  if (process.argv[1] !== fileURLToPath(fileUrl)) return
  const {
    port,
    model,
    auth,
    dialect,
    version,
    'latency-ms': latencyMs,
  } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      model: { type: 'string', multiple: true },
      auth: { type: 'string' },
      dialect: { type: 'string' },
      version: { type: 'string' },
      'latency-ms': { type: 'string', default: '0' },
    },
  }).values
  const as = dialect ?? version
  const { url, close } = await start({
    ...{ port: Number(port), latencyMs: Number(latencyMs) },
    ...{ ...(model && { models: model }), ...(auth && { auth }), ...(as && { as }) },
  })
  process.stdout.write(`${url}\n`)
  const end = () => void close().then(() => process.exit(0))
  process.once('SIGTERM', end).once('SIGINT', end)
}
