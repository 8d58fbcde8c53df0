import type { Readable } from 'node:stream'
import { beginExport } from '../core/gallery/account-export.js'
import type { ImageFiles } from '../core/images/ports.js'
import type { Database } from '../db/client.js'
import { accountExports } from '../db/gallery/account-export.js'
import { zipOf } from '../images/image-downloads.js'
import { en } from '../web/texts/texts.js'

/** All that is held on an account as a ZIP, for operators. @throws rate_limited */
export const exportOf =
  (db: Database, files: Pick<ImageFiles, 'read'>, onUnreadable?: (name: string) => void) =>
  async (account: { readonly id: string; readonly username: string }): Promise<Readable> =>
    zipOf(
      await beginExport(
        { exports: accountExports(db), files, ...(onUnreadable && { onUnreadable }) },
        account,
        en.accountExport,
      ),
    )
