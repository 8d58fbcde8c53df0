/** What the mails to accounts say. The core knows no language: who starts it gives it the texts. */
import { type SiteText, textIn } from '../site.js'

export interface MailText {
  readonly subject: string
  readonly text: string
}

/** Where a mail comes from, as it says it. */
export interface MailPlace {
  /** Of the installation. */
  readonly name: string
  readonly host: string
}

/** The mails in one language. */
export interface MailTexts {
  /** A BCP 47 tag. */
  readonly language: string
  signInLink(of: {
    readonly place: MailPlace
    readonly username: string
    readonly minutes: number
    readonly url: string
  }): MailText
  /** Without the account's name: a stranger may have chosen it, and the reader takes each word for ours. */
  confirmation(of: { readonly place: MailPlace; readonly minutes: number; readonly url: string }): MailText
  emailWarning(of: {
    readonly place: MailPlace
    readonly username: string
    readonly newEmail: string
    readonly url: string
  }): MailText
  /** A notice with its greeting, and where to turn such mails off. */
  notice(of: { readonly username: string; readonly text: string; readonly offUrl: string }): string
  creditsLow(of: { readonly place: MailPlace; readonly credits: number; readonly usageUrl: string }): MailText
  /** @param offersUrl where people get credits; undefined: nobody said it */
  creditsOut(of: {
    readonly place: MailPlace
    readonly usageUrl: string
    readonly offersUrl: string | undefined
  }): MailText
  paymentFailed(of: ChangedPlan): MailText
  subscriptionEnded(of: ChangedPlan): MailText
}

interface ChangedPlan {
  readonly place: MailPlace
  readonly plan: string
  readonly endDate: Date
  /** Where to do something about it. */
  readonly url: string
}

/** The texts in the first of these languages that the installation offers, else in its usual one. */
export type MailTextsIn = (...languages: readonly (string | null)[]) => MailTexts

/** What all mails of an installation have in common. */
export interface MailOrigin {
  readonly baseUrl: string
  readonly place: MailPlace
  readonly textsIn: MailTextsIn
  /** Where people get plans and credits. */
  readonly offersUrl: (language: string) => string | undefined
}

/** @param offers where people get plans and credits: an address, or a path of the website */
export const mailOrigin = (
  name: string,
  baseUrl: string,
  textsIn: MailTextsIn,
  offers: SiteText | undefined,
): MailOrigin => ({
  baseUrl,
  place: { name, host: new URL(baseUrl).host },
  textsIn,
  offersUrl: (language) => offers && new URL(textIn(offers, language), baseUrl).href,
})
