/** What an installation shows of itself. */

/** One text for every language, or one for each by its code; English is read where a language has none. */
export type SiteText = string | Readonly<Record<string, string>>

export interface SitePicture {
  readonly url: string
  /** What it shows, for who does not see it. */
  readonly alt: SiteText
  /** Below it. */
  readonly caption?: SiteText | undefined
}

/** What the footer leads to, in its order. */
export const FOOTER_LINKS = ['terms', 'privacy', 'imprint', 'contact', 'status'] as const

export interface SiteLink {
  readonly label: SiteText
  readonly href: SiteText
}

export interface Site {
  /** In the place of "Easel" wherever people read it: titles, mails, the API reference. */
  readonly name: string
  /** The image beside the name, and the tab's icon. */
  readonly mark?: { readonly url: string; readonly type: string } | undefined
  /** Of the style sheet with the colours that follow from the accent. */
  readonly accentUrl?: string | undefined
  /** What the front page says in place of its own words and drawings. */
  readonly home: {
    readonly headline?: SiteText | undefined
    readonly lead?: SiteText | undefined
    readonly pictures?: readonly SitePicture[] | undefined
  }
  readonly links: { readonly [name in (typeof FOOTER_LINKS)[number]]?: SiteText | undefined }
  /** Further links of the footer. */
  readonly moreLinks: readonly SiteLink[]
  /** Where people get a plan. Undefined where plans are sold here, or nobody said it. */
  readonly planHref?: SiteText | undefined
}

/** Of an installation that says nothing of its own. */
export const DEFAULT_SITE: Site = { name: 'Easel', home: {}, links: {}, moreLinks: [] }

export const textIn = (text: SiteText, language: string): string =>
  typeof text === 'string' ? text : (text[language] ?? (text.en as string))
