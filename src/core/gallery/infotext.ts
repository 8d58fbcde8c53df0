import { INFOTEXT_SAMPLERS } from '../generations/generation.js'
import type { OwnImage } from './gallery.js'

const MODEL_EXTENSION = /\.(safetensors|ckpt|gguf|sft|pth?|bin)$/i

/**
 * An image's parameters as AUTOMATIC1111 writes them, which most tools read: the prompt, the negative prompt on a line
 * of its own if there is one, and a last line of `Key: value` pairs.
 */
export function infotextOf(image: OwnImage): string {
  const [sampler, schedule] = INFOTEXT_SAMPLERS[image.sampler]
  const fields = [
    ['Steps', image.steps],
    ['Sampler', sampler],
    ['Schedule type', schedule],
    ['CFG scale', image.cfgScale],
    ['Seed', image.seed],
    ['Size', `${image.askedWidth}x${image.askedHeight}`],
    ['Model', image.filename.replace(/^.*[\\/]/, '').replace(MODEL_EXTENSION, '')],
    ['Version', versionOf(image)],
  ] as const
  return [
    image.prompt,
    ...(image.negativePrompt === '' ? [] : [`Negative prompt: ${image.negativePrompt}`]),
    fields.map(([key, value]) => `${key}: ${quoted(`${value}`)}`).join(', '),
  ].join('\n')
}

function versionOf({ madeWith }: OwnImage): string {
  if (!madeWith) return 'Easel'
  const { backend, version } = madeWith
  // A1111 itself writes the number alone.
  return backend === 'a1111' && version ? version : [backend, version].filter(Boolean).join(' ')
}

/** Quotes a value that holds a separator, as JSON. */
const quoted = (value: string) => (/[,:\n]/.test(value) ? JSON.stringify(value) : value)
