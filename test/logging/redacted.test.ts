import { expect, it } from 'vitest'
import { createLogger } from '../../src/process/logger.js'

it.each(['authorization', 'headers', 'prompt', 'negativePrompt'])(
  'a log line never holds what is called %s, in itself or in what it names',
  (name) => {
    const lines: string[] = []
    const log = createLogger('info', 'test', undefined, { write: (line) => void lines.push(line) })
    log.info({ [name]: 'a secret', request: { [name]: 'a secret' } }, 'a line')
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { [name]: '[redacted]', request: { [name]: '[redacted]' } },
    ])
  },
)
