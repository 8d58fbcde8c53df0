/** Which images strangers no longer get from the moment that is stored, wherever the files still are. */
import { resolvedWithin } from '../../lib/abort-signals.js'
import { serviceUnavailable } from '../errors.js'

export interface HiddenImageRows {
  /** Whether the image is private or was taken down. */
  isHidden(slug: string): Promise<boolean>
  /** The private ones whose files may still be at their public address. */
  leaving(): Promise<readonly string[]>
}

export interface HiddenImages {
  /** @throws unavailable while Postgres is away, for those that were known to leave their public address */
  isHidden(slug: string): Promise<boolean>
  /** Notes which images are leaving their public address, for when Postgres is away. */
  refresh(): Promise<void>
}

/** Longer than Postgres takes while it works. */
const ANSWER_WITHIN_MS = 1000

/** While Postgres is away, public images are served without its answer. */
export function hiddenImages(rows: HiddenImageRows): HiddenImages {
  let leaving: ReadonlySet<string> = new Set()
  return {
    async isHidden(slug) {
      const answer = await resolvedWithin(
        ANSWER_WITHIN_MS,
        rows.isHidden(slug).catch(() => undefined),
      )
      if (answer === undefined && leaving.has(slug)) throw serviceUnavailable(5)
      return answer ?? false
    },

    async refresh() {
      leaving = new Set(await rows.leaving())
    },
  }
}
