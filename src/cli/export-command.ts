/** `easel user export`: everything that is held on an account, in one file. */
import { open, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { requireAccount } from '../core/operator/accounts.js'
import { createImageStore } from '../images/open-image-store.js'
import { fileNameOf } from '../lib/file-name.js'
import { exportOf } from '../process/export-account.js'
import { allImageFiles } from '../process/image-files.js'
import type { Operator } from './connection.js'
import { OperatorError } from './operator-error.js'
import { facts, plural } from './output.js'

/** Also of a deleted account: what was not purged is still held. */
export async function exportUser(
  { config, db, stores }: Operator,
  name: string,
  options: { readonly output?: string },
) {
  const account = await requireAccount(stores, name, { orDeleted: true })
  const output = options.output ?? `easel-${fileNameOf(account.username)}.zip`
  // First, since an export that is begun keeps others waiting. Nobody else may read it, and nothing is overwritten.
  const file = await open(output, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'EEXIST' ? 'is there already' : "can't be written"
    throw new OperatorError(`${output} ${why}: name another file with --output.`)
  })
  try {
    const images = allImageFiles(await createImageStore(config), config, db)
    const stream = file.createWriteStream()
    const unreadable: string[] = []
    await pipeline(await exportOf(db, images, (it) => unreadable.push(it))(account), stream)
    const { bytesWritten: bytes } = stream
    const isWhole = unreadable.length === 0
    return {
      json: { username: account.username, file: output, bytes, ...(!isWhole && { unreadable }) },
      text: facts({ file: output, bytes }),
      failed: !isWhole,
      remark: isWhole
        ? undefined
        : `error: ${plural(unreadable.length, 'file')} could not be read: missing.txt in ${output} names them. Make them readable, then export again.`,
    }
  } catch (error) {
    await file.close()
    await rm(output, { force: true })
    throw error
  }
}
