import type { Logger } from 'pino'
import type { InferenceBackend } from '../../generation/run/backend.js'
import { consecutiveRuns, type Limits, serverBackend } from '../server-backend.js'
import { createServerHttp, parseServerUrl } from '../server-http.js'
import { type A1111Server, discover } from './discovery.js'
import { infer, TIMES } from './inference.js'

export interface A1111Options extends Limits, Partial<typeof TIMES> {
  readonly logger?: Pick<Logger, 'info'> | undefined
}

/**
 * One server with AUTOMATIC1111's API: A1111, Forge or SD.Next. No other client may use the server: its progress and
 * its interrupt know no jobs, only "the running one".
 */
export function createA1111Backend(url: string, options: A1111Options): InferenceBackend {
  const http = createServerHttp(parseServerUrl(url))
  return serverBackend({
    http,
    limits: options,
    remembers: true,
    runsOf: consecutiveRuns,
    async discover(signal, known?: A1111Server) {
      const server = await discover(http, signal)
      if (server.dialect !== known?.dialect)
        options.logger?.info({ backend: http.name, dialect: server.dialect }, 'inference server recognised')
      return server
    },
    offers: ({ models, ambiguous }) => ({ models: [...new Set(models.map(({ filename }) => filename))], ambiguous }),
    modelOf: ({ models }, filename) => models.find((model) => model.filename === filename),
    infer: (asked, call) => infer(http, asked, call, { ...TIMES, ...options }),
  })
}
