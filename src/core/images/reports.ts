/** What visitors report about a published image. */

import { isStorable } from '../../lib/text.js'
import { AppError, imageNotFound } from '../errors.js'
import { SLUG } from './ports.js'

/** Why an image is reported, and how the form says it. */
export const REPORT_REASONS = {
  illegal: 'It is illegal',
  minors: 'Sexual content involving minors',
  harassment: 'Harassment or hate',
  copyright: 'It infringes my copyright',
  likeness: 'It shows me without my consent',
  other: 'Something else',
} as const
export type ReportReason = keyof typeof REPORT_REASONS

/** Of a report's note, in characters. */
export const MAX_NOTE_LENGTH = 1000
/** Of one image at a time, and one for each reason beyond. Later ones are counted with the newest that has their reason. */
export const MAX_OPEN_REPORTS = 10

export interface NewReport {
  readonly reason: ReportReason
  /** May have several lines; empty: none. */
  readonly note: string
}

export interface ReportStore {
  /** Adds a report, or counts it beyond MAX_OPEN_REPORTS. False: there is no such image, or it is removed. */
  add(slug: string, report: NewReport): Promise<boolean>
}

/** Why a report cannot be taken, as a sentence for whoever wrote it; undefined: it can. */
export function reportProblem({ reason, note }: NewReport): string | undefined {
  if (!isStorable(note)) return 'The note has characters that cannot be stored. Type it again.'
  if ([...note].length > MAX_NOTE_LENGTH) return `The note may have ${MAX_NOTE_LENGTH} characters. Shorten it.`
  if (reason === 'other' && note === '') return 'Say in the note what is wrong with the image.'
  return undefined
}

/** Reports an image to the operators; nothing tells them who did. @throws not_found, invalid_request */
export async function reportImage(reports: ReportStore, slug: string, report: NewReport): Promise<void> {
  const problem = reportProblem(report)
  if (problem) throw new AppError('invalid_request', problem, { parameter: 'note' })
  if (!SLUG.test(slug) || !(await reports.add(slug, report))) throw imageNotFound()
}
