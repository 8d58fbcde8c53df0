/** What visitors have reported, and that it needs nothing. */
import type { Page, PageRequest } from '../../lib/page.js'
import { AppError } from '../errors.js'
import { SLUG } from '../images/ports.js'
import type { NewReport } from '../images/reports.js'
import type { Acting } from './acting.js'

export interface ImageReport extends NewReport {
  readonly id: number
  readonly at: Date
  /** How many reports it stands for: those that are only counted, too. */
  readonly times: number
}

/** An image with open reports. */
export interface ReportedImage {
  readonly slug: string
  readonly generationId: string
  /** Whose image it is. */
  readonly username: string
  readonly hasThumbnail: boolean
  /** Newest first, at least one. */
  readonly reports: readonly ImageReport[]
}

export interface ImageReportLog {
  /** The image with the newest report first. */
  list(page: PageRequest): Promise<Page<ReportedImage>>
  /** How many images have open reports. */
  countImages(): Promise<number>
  /** Closes the image's open reports with IDs up to `upTo`. Resolves to how many. */
  dismiss(slug: string, upTo: number, by: string): Promise<number>
}

/**
 * Says that the open reports of an image need nothing. Resolves to how many these were.
 * @param upTo the ID of the newest report that was looked at: later ones stay open
 * @throws not_found
 */
export async function dismissReports(
  acting: Acting<{ readonly imageReports: ImageReportLog }>,
  slug: string,
  upTo: number = Number.MAX_SAFE_INTEGER,
): Promise<number> {
  const dismissed = await acting.recorded(
    async ({ imageReports }) => (SLUG.test(slug) ? imageReports.dismiss(slug, upTo, acting.by.actor) : 0),
    (count) => (count > 0 ? [`dismissed ${count} report${count === 1 ? '' : 's'} of an image`, slug] : undefined),
  )
  if (dismissed === 0)
    throw new AppError('not_found', `Image "${slug}" has no open report.`, { parameter: 'report_slug' })
  return dismissed
}
