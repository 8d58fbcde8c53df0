import type { Attempt } from './ports.js'

/** What a worker without a key of the image store may have done for it. */
export interface UploadRights {
  /** Whether this attempt runs now, and the image is one of its generation's and not published. */
  mayStore(attempt: Attempt, slug: string): Promise<boolean>
}
