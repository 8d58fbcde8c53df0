import { z } from 'zod'
import { readJsonFile } from '../lib/json-file.js'
import defaultCategories from './default-categories.json' with { type: 'json' }
import { toTerm } from './engine/term-trie.js'
import type { Rule } from './rules-moderator.js'

const STARS = /^\*|\*$/g

const term = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(100, 'must have at most 100 characters')
  .refine((text) => !/\*/.test(text.replace(STARS, '')), 'may have a * at its start and end only')
  .refine(isReadable, 'must have at least two letters or digits, or one Chinese, Japanese or Korean character')

const category = z.strictObject({
  name: z.string().trim().min(1, 'must not be empty').max(80, 'must have at most 80 characters'),
  /** Words and phrases, in any alphabet; `term*` and `*term` also match inside longer words. */
  terms: z.array(term).min(1, 'must hold at least one term').max(10_000, 'must hold at most 10000 terms'),
  /** Only together with one of these, anywhere in the prompt; `sexual` is the built-in list for sex and nudity. */
  beside: z.union([z.literal('sexual'), z.array(term).min(1)], 'must be "sexual" or a list of terms').optional(),
  /** Phrases in which the terms are harmless. */
  except: z.array(z.string().trim().min(1).max(100)).default([]),
  /** `sfw`: only on models that are not marked as NSFW. */
  models: z.enum(['all', 'sfw'], 'must be "all" or "sfw"').default('all'),
})

const categoriesFile = z.strictObject({ categories: z.array(category) })

/** The operator's rules can't be used; the message is one sentence that says where and why. */
export class ModerationRulesError extends Error {}

/** A star alone must not let a single letter through, which would be found in every prompt. */
function isReadable(text: string): boolean {
  const read = toTerm(text.replace(STARS, ''), 0)
  return read !== undefined && (read.symbols.length > 1 || read.openStart)
}

/**
 * The configurable rules: those of the operator's file, or the default ones, which allow sexual content with adults.
 * @throws ModerationRulesError when the file can't be read or does not have the form of a categories file. It says
 *   where and why, and quotes nothing: the path may name a file that is not ours to show.
 */
export function configuredRules(path: string | undefined): Rule[] {
  const parsed = categoriesFile.safeParse(path === undefined ? defaultCategories : readJson(path))
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ code, message, path: place }) => {
      const problem = code === 'unrecognized_keys' ? 'holds a key that is not known' : message
      return `${z.core.toDotPath(place) || 'the file'}: ${problem}`
    })
    throw new ModerationRulesError(`MODERATION_RULES: the file ${path} can't be used: ${issues.join('; ')}.`)
  }
  return parsed.data.categories.map(({ name, terms, beside, except, models }) => ({
    category: name,
    models,
    terms: { terms, ordinary: except },
    ...(beside !== undefined && { beside: beside === 'sexual' ? beside : { terms: beside } }),
  }))
}

function readJson(path: string): unknown {
  try {
    return readJsonFile(path)
  } catch (error) {
    throw new ModerationRulesError(`MODERATION_RULES: the file ${path} ${(error as Error).message}.`)
  }
}
