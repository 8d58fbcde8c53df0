import { MAX_SEED, SAMPLERS, type Sampler } from '../../core/generations/generation.js'

/** OpenAI's clients are given the address with this path; an address without any means it. */
export const DEFAULT_PATH = '/v1'

/** Every server of this kind keeps these, and random seeds are among them; LocalAI's are signed 32-bit integers. */
const SAFE_MAX_SEED = 2147483647
/** What the strictest of these servers needs. */
const SAFE_SIZE_MULTIPLE = 64

/** The values of the options that have a choice. A claim only distinguishes these two seeds. */
const CHOICES = {
  max_seed: { values: [`${SAFE_MAX_SEED}`, `${MAX_SEED}`], are: `${SAFE_MAX_SEED} or ${MAX_SEED}` },
  size_multiple: { values: ['8', '16', '64'], are: '8, 16 or 64' },
  max_cfg_scale: { values: ['20'], are: '20, or be left out' },
  negative: { values: ['pipe'], are: 'pipe, or be left out' },
}
const OPTIONS = ['sampler', 'model', ...Object.keys(CHOICES)]

/**
 * The operator's description of a server whose API does not describe it, from the query of
 * `openai+http://host:8080/v1?sampler=euler_a&model=…&max_seed=…&size_multiple=…&max_cfg_scale=20&negative=pipe`.
 * @throws Error with one sentence: a sampler must be declared, since a guess might misinform the user
 */
export function readDeclaration(query: URLSearchParams) {
  for (const name of query.keys())
    if (!OPTIONS.includes(name))
      throw new Error(`An openai backend has no option "${name}"; it has ${OPTIONS.join(', ')}.`)
  const samplers = query.getAll('sampler').map(toSampler)
  if (samplers.length === 0)
    throw new Error(
      'An openai backend must say which sampler the server draws with, like openai+http://host:8080/v1?sampler=euler.',
    )
  return {
    /** What the server draws with. The API has no field to choose one, so all declared ones are sent alike. */
    samplers: new Map(samplers.map((name) => [name, { name, schedule: undefined }])),
    /** Of the models that the server lists, those to use; empty: all. */
    models: query.getAll('model'),
    maxSeed: Number(choice(query, 'max_seed') ?? SAFE_MAX_SEED),
    sizeMultiple: Number(choice(query, 'size_multiple') ?? SAFE_SIZE_MULTIPLE),
    /** vLLM-Omni refuses a guidance above 20. */
    maxCfgScale: choice(query, 'max_cfg_scale') === null ? undefined : 20,
    /** LocalAI takes what follows a `|` in the prompt for the negative one, and has no field for it. */
    isPiped: choice(query, 'negative') !== null,
  }
}

function toSampler(name: string): Sampler {
  const sampler = SAMPLERS.find((known) => known === name)
  if (!sampler) throw new Error(`An openai backend's sampler must be one of ${SAMPLERS.join(', ')}.`)
  return sampler
}

function choice(query: URLSearchParams, name: keyof typeof CHOICES): string | null {
  const text = query.get(name)
  if (text !== null && !CHOICES[name].values.includes(text))
    throw new Error(`An openai backend's ${name} must be ${CHOICES[name].are}.`)
  return text
}
