import { createOpenAiBackend } from '../../../src/inference/openai/openai-backend.js'
import { type OpenAiStandInOptions, startOpenAiStandIn } from '../../stand-ins/openai/openai-stand-in.js'
import { attached } from '../given.js'

export async function givenBackend(
  standInOptions: OpenAiStandInOptions = {},
  {
    rest = '/v1?sampler=euler_a',
    ...options
  }: Partial<Parameters<typeof createOpenAiBackend>[1]> & { rest?: string } = {},
) {
  const standIn = await startOpenAiStandIn(standInOptions)
  return attached(standIn, createOpenAiBackend(standIn.inferenceUrl(rest), { timeoutMs: 60_000, ...options }))
}
