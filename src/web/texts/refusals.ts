import { SAMPLERS, samplerName } from '../../core/generations/generation.js'
import { accountRefusals as germanOfAccounts } from './de/account-refusals.js'
import { refusals as german, names as germanNames } from './de/refusals.js'
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

interface Translation {
  readonly pattern: RegExp
  /** Of each part that differs, whether it is a name. */
  readonly named: readonly boolean[]
  readonly sentence: string
}

/** Of the languages other than English, which the core speaks. */
const TRANSLATED: Readonly<Record<string, readonly Translation[]>> = {
  de: [...german, ...germanOfAccounts].map(translation),
}

const NAMES: Readonly<Record<string, ReadonlyMap<string, string>>> = { de: germanNames }

function translation([english, sentence]: readonly [string, string]): Translation {
  const parts = english.split(/\{(?:name)?\}/).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  const named = [...english.matchAll(/\{(name)?\}/g)].map(([, name]) => name !== undefined)
  return { pattern: new RegExp(`^${parts.join('(.*?)')}$`, 's'), named, sentence }
}

/** Of a sentence with what a person wrote in it. The patterns take very long for very long ones. */
const MAX_LENGTH = 500

const samplerOf = (name: string) => SAMPLERS.find((it) => it === name)

/** A name of the core's, a field's, a sampler's or a category's, for people. */
export function nameInWords(name: string, { language }: Pick<Texts, 'language'>): string {
  const sampler = samplerOf(name)
  return NAMES[language]?.get(name) ?? (sampler ? samplerName(sampler) : name)
}

/**
 * A refusal of the core for people, in their language where that has it: it may begin with the name of a field of
 * the API, and name a sampler.
 */
export function inWords(sentence: string, texts: Pick<Texts, 'language'>): string {
  if (sentence.length > MAX_LENGTH) return sentence
  for (const { pattern, named, sentence: translated } of TRANSLATED[texts.language] ?? []) {
    const found = pattern.exec(sentence)
    if (!found) continue
    const parts = found.slice(1).map((part, n) => (named[n] ? nameInWords(part, texts) : part))
    return translated.replaceAll('{}', () => parts.shift() ?? '')
  }
  return sentence
    .replace(/^[a-z][a-z_]*(?= )/, (name) => `The ${FIELD_WORDS[name] ?? name.replaceAll('_', ' ')}`)
    .replace(/^(The|A) cfg_scale /, '$1 guidance ')
    .replace(' an integer', ' a whole number')
    .replace(/"([a-z0-9_]+)"/g, (quoted, name) => {
      const sampler = samplerOf(name)
      return sampler ? `"${samplerName(sampler)}"` : quoted
    })
}
