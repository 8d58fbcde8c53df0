/**
 * The texts of the website and of the mails to its accounts, in the language of their reader. Each language is a folder with a file for each page; English
 * comes first, and the compiler asks every other language for the same texts.
 */
import type { FastifyRequest } from 'fastify'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { MailTextsIn } from '../../core/accounts/mail-texts.js'
import { de } from './de/de.js'
import { en, type Texts } from './en/en.js'

export type { Texts }
export { en }

const ALL = { en, de } satisfies Readonly<Record<string, Texts>>

export type Language = keyof typeof ALL
export const LANGUAGES = Object.keys(ALL) as readonly Language[]
export const textsIn = (language: Language): Texts => ALL[language]

declare module 'fastify' {
  interface FastifyRequest {
    /** In the language of whoever reads the answer. */
    texts: Texts
  }
}

/** What the page is rendered with; `sendPage` sets it. */
export const TextsOfPage = createContext<Texts>(en)
/** The texts, in a component. */
export const useTexts = (): Texts => useContext(TextsOfPage)

/**
 * The texts for the reader of an answer: in the language that the account remembers, else the one that the browser likes
 * best of those that the site offers.
 * @param offered by the site, the usual one first
 */
export function textsFor(
  { headers, signedIn }: Pick<FastifyRequest, 'headers' | 'signedIn'>,
  offered: readonly Language[],
): Texts {
  const remembered = offered.find((language) => language === signedIn?.language)
  return textsIn(remembered ?? liked(headers['accept-language'], offered) ?? offered[0] ?? 'en')
}

/** The texts of mails. @param offered by the site, the usual one first */
export const mailTextsOf =
  (offered: readonly Language[]): MailTextsIn =>
  (...liked) => {
    const language = liked.flatMap((it) => offered.find((one) => one === it) ?? [])[0]
    return textsIn(language ?? offered[0] ?? 'en').mails
  }

/** https://www.rfc-editor.org/rfc/rfc9110#name-accept-language; `de` also does for who asks for `de-AT`. */
function liked(header = '', offered: readonly Language[]): Language | undefined {
  const asked = header
    .toLowerCase()
    .split(',')
    .map((part) => {
      const [tag = '', ...parameters] = part.split(';').map((it) => it.trim())
      const weight = parameters.find((it) => it.startsWith('q='))?.slice(2)
      return { tag, weight: weight === undefined ? 1 : Number(weight) || 0 }
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
  for (const { tag } of asked) {
    const language = tag === '*' ? offered[0] : offered.find((it) => it === tag.split('-')[0])
    if (language) return language
  }
  return undefined
}
