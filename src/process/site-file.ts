/** The file of SITE_FILE: what an installation shows of itself. */
import { z } from 'zod'
import type { SiteText } from '../core/site.js'
import { FileFault, readJsonFile } from '../lib/json-file.js'
import { siteName } from './config-values.js'

const LANGUAGE = /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/

/** One value for every language, or one for each. */
const perLanguage = (isValue: (text: string) => boolean, what: string) => {
  const isRight = (given: unknown) => typeof given === 'string' && isValue(given)
  const isEach = (given: unknown) =>
    typeof given === 'object' &&
    given !== null &&
    'en' in given &&
    Object.entries(given).every(([language, it]) => LANGUAGE.test(language) && isRight(it))
  return z.custom<SiteText>(
    (given) => isRight(given) || isEach(given),
    `must be ${what}, or an object with one for each language, like {"en": …, "de": …}, and "en" among them`,
  )
}

const text = (max: number) =>
  perLanguage((it) => it.trim() !== '' && it.length <= max, `a text of 1 to ${max} characters`)

/** No other scheme: a link must not run a script. */
const isLink = (href: string) =>
  href.length <= 500 &&
  !/[\s\\]/.test(href) &&
  (href.startsWith('/')
    ? !href.startsWith('//')
    : URL.canParse(href) && ['https:', 'http:', 'mailto:'].includes(new URL(href).protocol))

const link = perLanguage(
  isLink,
  'a link that begins with https://, http:// or mailto:, or with / for a page of this site',
)

const COLOUR = 'must be a colour like #0b5cad'
const colour = z
  .string(COLOUR)
  .regex(/^#[0-9A-Fa-f]{6}$/, COLOUR)
  .transform((it) => it.toLowerCase())

const picture = z.strictObject({
  /** A file, or a URL on one of the site's own hosts. */
  src: z.string('must be the name of a file, or a URL').min(1, 'must be the name of a file, or a URL'),
  alt: text(300),
  caption: text(100).optional(),
})

const siteFile = z.strictObject({
  name: siteName.optional(),
  /** A file. */
  mark: z.string('must be the name of a file').min(1, 'must be the name of a file').optional(),
  accent: z.strictObject({ light: colour, dark: colour }, 'must be {"light": "#…", "dark": "#…"}').optional(),
  home: z
    .strictObject(
      {
        headline: text(80).optional(),
        lead: text(300).optional(),
        pictures: z.array(picture, 'must be three pictures').length(3, 'must be three pictures').optional(),
      },
      'must be an object',
    )
    .default({}),
  links: z
    .strictObject(
      {
        terms: link.optional(),
        privacy: link.optional(),
        imprint: link.optional(),
        contact: link.optional(),
        status: link.optional(),
        /** Where people get a plan. */
        plan: link.optional(),
        more: z
          .array(
            z.strictObject({ label: text(40), href: link }, 'must be {"label": …, "href": …}'),
            'must be a list of links',
          )
          .max(8, 'must have at most 8 links')
          .default([]),
      },
      'must be an object',
    )
    .default({ more: [] }),
})

export type SiteFile = z.output<typeof siteFile>

/** Of an installation without one. */
export const NO_SITE_FILE: SiteFile = siteFile.parse({})

/** @throws FileFault with all that is wrong, in words that go on after the path */
export function readSiteFile(path: string): SiteFile {
  const parsed = siteFile.safeParse(readJsonFile(path))
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => {
    const place = z.core.toDotPath(issue.path) || 'the whole file'
    if (issue.code === 'unrecognized_keys')
      return `${place}: ${issue.keys.map((key) => `"${key}"`).join(', ')} is not known`
    return `${place}: ${issue.message.startsWith('must') ? issue.message : 'must be an object'}`
  })
  throw new FileFault(`can't be used: ${problems.join('; ')}`)
}
