import type { ArchiveFiles } from '../../src/core/generations/archive-months.js'
import { type ArchivedMonths, archiveMonths } from '../../src/core/generations/archive-months.js'
import type { RetentionDays } from '../../src/core/generations/retention.js'
import type { Database } from '../../src/db/client.js'
import { archiveStore } from '../../src/db/generations/archive-store.js'
import { archiveFiles } from '../../src/images/archive-files.js'
import type { Easel } from '../cli/easel.js'

const FOR_EVER: RetentionDays = { prompts: undefined, images: undefined }

/** Archives what has moved to months that ended more than a year ago. */
export const archiveInto = (db: Database, files: ArchiveFiles, kept = FOR_EVER): Promise<ArchivedMonths> =>
  archiveMonths(archiveStore(db, files, kept), 13, new AbortController().signal)

type Kept = Pick<Easel, 'db' | 'storage'>

export const filesOf = ({ storage }: Pick<Kept, 'storage'>): ArchiveFiles =>
  archiveFiles({ storage: { kind: 'file', path: storage } })

export const archive = (easel: Kept, kept?: RetentionDays): Promise<ArchivedMonths> =>
  archiveInto(easel.db, filesOf(easel), kept)

/** What was brought back may be archived again at once. */
export async function forgetUses({ pool }: Database): Promise<void> {
  await pool.query('DELETE FROM archive_uses')
}
