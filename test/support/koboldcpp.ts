import { onTestFinished } from 'vitest'
import { startSwitchableServer } from './switchable-server.js'

const ANSWERS: Readonly<Record<string, unknown>> = {
  '/api/extra/version': { result: 'KoboldCpp', version: '1.99', protected: false, txt2img: true },
  '/sdapi/v1/sd-models': [{ title: 'sd', model_name: 'sd', hash: '8888888888', filename: 'sd.safetensors' }],
  '/sdapi/v1/samplers': [{ name: 'Euler a', aliases: ['k_euler_a'], options: {} }],
  '/models/checkpoints': ['sd'],
  '/v1/models': { object: 'list', data: [{ id: 'koboldcpp/sd', object: 'model', owned_by: 'koboldcpp' }] },
}

/** Answers as KoboldCpp with an image model does, which has a part of the APIs of others. Its address. */
export async function givenKoboldCpp(): Promise<string> {
  const { url, refuse } = await startSwitchableServer(async (request, response) => {
    const body = ANSWERS[request.url ?? '']
    response.writeHead(body ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? {}))
  })
  onTestFinished(refuse)
  return url
}
