import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { sexual } from './rules/sexual.js'
import type { Rule } from './rules-moderator.js'
import { toTerm } from './term-trie.js'

const STARS = /^\*|\*$/g

const term = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(100, 'must have at most 100 characters')
  .refine((text) => !/\*/.test(text.replace(STARS, '')), 'may have a * at its start and end only')
  .refine(
    (text) => isReadable(text),
    'must have at least two letters or digits, or one Chinese, Japanese or Korean character',
  )

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

const categoriesFile = z.strictObject({
  categories: z.array(category),
})

export type CategoriesFile = z.infer<typeof categoriesFile>

/** The operator's rules can't be used; the message is one sentence that says where and why. */
export class ModerationRulesError extends Error {}

/** A star alone must not let a single letter through, which would be found in every prompt. */
function isReadable(text: string): boolean {
  const read = toTerm(text.replace(STARS, ''), 0)
  return read !== undefined && (read.symbols.length > 1 || read.openStart)
}

/** @throws ModerationRulesError when the file can't be read or does not have the form of a categories file */
export function readCategoriesFile(path: string): CategoriesFile {
  let content: unknown
  try {
    content = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    const reason =
      error instanceof SyntaxError ? `is not valid JSON (${error.message})` : `can't be read (${codeOf(error)})`
    throw new ModerationRulesError(`MODERATION_RULES: the file ${path} ${reason}.`, { cause: error })
  }
  const parsed = categoriesFile.safeParse(content)
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.map(({ path: at, message }) => `${placeOf(at)}: ${message}`)
  throw new ModerationRulesError(`MODERATION_RULES: the file ${path} can't be used: ${issues.join('; ')}.`)
}

/** The rules of a categories file. */
export const rulesOf = ({ categories }: CategoriesFile): Rule[] =>
  categories.map(({ name, terms, beside, except, models }) => ({
    category: name,
    models,
    terms: { terms, ordinary: except },
    ...(beside !== undefined && { beside: beside === 'sexual' ? sexual : { terms: beside } }),
  }))

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error)

const placeOf = (at: readonly PropertyKey[]): string =>
  at.map((step, i) => (typeof step === 'number' ? `[${step}]` : `${i > 0 ? '.' : ''}${String(step)}`)).join('') ||
  'the file'
