import { INFOTEXT_SAMPLERS } from '../sampler.js'
import type { OwnPicture } from './history.js'

const MODEL_EXTENSION = /\.(safetensors|ckpt|gguf|sft|pth?|bin)$/i

/**
 * A picture's parameters as AUTOMATIC1111 writes them, which most tools read: the prompt, the negative prompt on a line
 * of its own if there is one, and a last line of `Key: value` pairs.
 */
export function infotextOf(picture: OwnPicture): string {
  const [sampler, schedule] = INFOTEXT_SAMPLERS[picture.sampler]
  const fields = [
    ['Steps', picture.steps],
    ['Sampler', sampler],
    ['Schedule type', schedule],
    ['CFG scale', picture.cfgScale],
    ['Seed', picture.seed],
    ['Size', `${picture.width}x${picture.height}`],
    ['Model', picture.filename.replace(/^.*[\\/]/, '').replace(MODEL_EXTENSION, '')],
    ['Version', versionOf(picture)],
  ] as const
  return [
    picture.prompt,
    ...(picture.negativePrompt === '' ? [] : [`Negative prompt: ${picture.negativePrompt}`]),
    fields.map(([key, value]) => `${key}: ${quoted(`${value}`)}`).join(', '),
  ].join('\n')
}

function versionOf({ madeWith }: OwnPicture): string {
  if (!madeWith) return 'Easel'
  const { backend, version } = madeWith
  // A1111's own are known by the number alone.
  return backend === 'a1111' && version ? version : [backend, version].filter(Boolean).join(' ')
}

/** What would end a field is quoted as JSON. */
const quoted = (value: string) => (/[,:\n]/.test(value) ? JSON.stringify(value) : value)
