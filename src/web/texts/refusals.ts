import { SAMPLERS, samplerName } from '../../core/generations/generation.js'
import { accountRefusals as germanOfAccounts } from './de/account-refusals.js'
import { refusals as german, fields as germanFields } from './de/refusals.js'
import type { Texts } from './en/en.js'

/** What people read instead of a field's name in the API; other names need no words of their own. */
const FIELD_WORDS: Readonly<Record<string, string>> = {
  url: 'URL',
  id: 'ID',
  batch_size: 'number of images',
  steps: 'number of steps',
  cfg_scale: 'guidance',
  model_version_id: 'model',
  from: 'first day',
  to: 'last day',
}

/** Of the languages other than English, which the core speaks. */
const TRANSLATED: Readonly<Record<string, readonly (readonly [pattern: RegExp, sentence: string])[]>> = {
  de: [...german, ...germanOfAccounts].map(([english, sentence]) => [patternOf(english), sentence]),
}

const FIELDS: Readonly<Record<string, ReadonlyMap<string, string>>> = { de: germanFields }

function patternOf(english: string): RegExp {
  const parts = english.split('{}').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${parts.join('(.*?)')}$`, 's')
}

/**
 * A refusal of the core for people, in their language where that has it: it may begin with the name of a field of
 * the API, and name a sampler.
 */
export function inWords(sentence: string, { language }: Pick<Texts, 'language'>): string {
  for (const [pattern, translated] of TRANSLATED[language] ?? []) {
    const found = pattern.exec(sentence)
    if (!found) continue
    const [, first = '', ...others] = found
    const begins = sentence.startsWith(first) && FIELDS[language]?.get(first)
    const parts = [begins || first, ...others]
    return translated.replaceAll('{}', () => parts.shift() ?? '')
  }
  return sentence
    .replace(/^[a-z][a-z_]*(?= )/, (name) => `The ${FIELD_WORDS[name] ?? name.replaceAll('_', ' ')}`)
    .replace(/^The cfg_scale /, 'The guidance ')
    .replace(' an integer', ' a whole number')
    .replace(/"([a-z0-9_]+)"/g, (quoted, name) => {
      const sampler = SAMPLERS.find((it) => it === name)
      return sampler ? `"${samplerName(sampler)}"` : quoted
    })
}
