/** Everything that is held on an account, for its owner: rows as JSON, and the files of its images. */
import { retryFor } from '../../lib/retry.js'
import { AppError } from '../errors.js'
import type { ArchivedFile, ImageFiles } from '../images/ports.js'
import { eachTried } from '../images/read-each.js'

/** Each is a JSON file with a list of rows. */
export const EXPORT_FILES = [
  'account',
  'subscription',
  'keys',
  'sessions',
  'sign-in-links',
  'identities',
  'generations',
  'request-keys',
  'folders',
  'saved-settings',
  'up-next',
  'credits',
  'usage',
  'payment-customers',
  'paid-subscriptions',
  'payments',
  'payment-events',
  'webhooks',
  'webhook-deliveries',
  'notices',
  'mails',
  'refused-prompts',
  'reports',
  'operator-acts',
] as const
export type ExportFile = (typeof EXPORT_FILES)[number]

/** What the file of an image is named after. */
export interface ExportedImage {
  readonly slug: string
  readonly createdAt: Date
}

export interface AccountExports {
  /** The rows of a file, each as JSON, in pages. */
  rows(accountId: string, file: ExportFile): AsyncIterable<readonly string[]>
  /** Of the images that are not removed, private ones included. */
  images(accountId: string): AsyncIterable<ExportedImage>
  /** Files of the archive with generations of the account that can't be read, by their IDs. */
  unreadable(accountId: string): Promise<readonly string[]>
  /** Lets `holder` export the account for some time. False: another one is at it. */
  hold(accountId: string, holder: string): Promise<boolean>
  /** Prolongs that. False: another one is at it by now, or the account was deleted meanwhile. */
  renew(accountId: string, holder: string): Promise<boolean>
  release(accountId: string, holder: string): Promise<void>
}

/** What README.txt says, in the language of its reader. */
export interface ExportWords {
  intro(username: string, at: Date): string
  readonly files: Readonly<Record<ExportFile, string>>
  readonly images: string
  readonly missing: string
}

interface ExportPorts {
  readonly exports: AccountExports
  readonly files: Pick<ImageFiles, 'read'>
  /** Told of each image, or file of the archive, that is there and can't be read. */
  readonly onUnreadable?: (name: string) => void
}

/** How often is looked whether the export may go on. What stands still for longer is not waited for by the next one. */
const LOOK_MS = 5_000
/** How long Postgres or the image store may be away. */
const PATIENCE_MS = 30_000

/**
 * Begins the only export of an account at a time, whichever server makes it. Its files come one after the other, when
 * they are asked for. It ends when they have all been read, or with `return`, which whoever reads them must call.
 * @param isAllowed whether who asked for it still may have it
 * @throws rate_limited while another export of the account is being made; while it is read, Error once it must not go on
 */
export async function beginExport(
  ports: ExportPorts,
  account: { readonly id: string; readonly username: string },
  words: ExportWords,
  isAllowed: () => Promise<boolean> = async () => true,
): Promise<AsyncIterableIterator<ArchivedFile>> {
  const { exports } = ports
  const { id } = account
  const holder = crypto.randomUUID()
  if (!(await exports.hold(id, holder)))
    throw new AppError(
      'rate_limited',
      'Another export of this account is being made: wait until that download has ended, then try again.',
      { retryAfterSeconds: 60 },
    )
  let lookedAt = Date.now()
  const goOn = async () => {
    if (Date.now() - lookedAt < LOOK_MS) return
    if (!(await retryFor(async () => (await exports.renew(id, holder)) && (await isAllowed()), PATIENCE_MS)))
      throw new Error('The export has ended: another one has begun, or the account or the session is over.')
    lookedAt = Date.now()
  }
  // What is not released ends by itself.
  const release = () => exports.release(id, holder).catch(() => undefined)
  const files = exportedFiles(ports, account, words, goOn, release)
  const reading: AsyncIterableIterator<ArchivedFile> = {
    [Symbol.asyncIterator]: () => reading,
    next: () => files.next(),
    async return() {
      const end = await files.return(undefined)
      // Nothing of it was run if nothing was read.
      await release()
      return end
    },
  }
  return reading
}

async function* exportedFiles(
  { exports, files, onUnreadable = () => undefined }: ExportPorts,
  { id, username }: { readonly id: string; readonly username: string },
  words: ExportWords,
  goOn: () => Promise<void>,
  release: () => Promise<void>,
): AsyncGenerator<ArchivedFile, undefined> {
  const at = new Date()
  try {
    yield { name: 'README.txt', at, bytes: Buffer.from(readme(username, at, words)) }
    for (const file of EXPORT_FILES) {
      await goOn()
      yield { name: `${file}.json`, at, bytes: listOf(exports.rows(id, file), goOn) }
    }
    const unreadable = (await exports.unreadable(id)).map((file) => `archive ${file}`)
    const missing: string[] = []
    let reading = ''
    const tryOne = eachTried(PATIENCE_MS, () => unreadable.push(reading))
    for await (const { slug, createdAt } of exports.images(id)) {
      await goOn()
      reading = slug
      const png = (await tryOne(() => files.read(slug)))?.done
      if (png) yield { name: `images/${slug}.png`, at: createdAt, bytes: png }
      else if (unreadable.at(-1) !== slug) missing.push(slug)
    }
    for (const name of unreadable) onUnreadable(name)
    missing.push(...unreadable)
    if (missing.length > 0) yield { name: 'missing.txt', at, bytes: Buffer.from([...missing, ''].join('\n')) }
  } finally {
    await release()
  }
}

function readme(username: string, at: Date, { intro, files, images, missing }: ExportWords): string {
  const parts = [
    ...EXPORT_FILES.map((file) => [`${file}.json`, files[file]]),
    ['images/', images],
    ['missing.txt', missing],
  ]
  return `${intro(username, at)}\n\n${parts.map(([name, text]) => `${name}\n    ${text}\n`).join('\n')}`
}

/** One JSON list, a row on each line. */
async function* listOf(pages: AsyncIterable<readonly string[]>, goOn: () => Promise<void>): AsyncGenerator<Buffer> {
  let before = '[\n'
  for await (const page of pages) {
    if (page.length === 0) continue
    yield Buffer.from(before + page.join(',\n'))
    before = ',\n'
    await goOn()
  }
  yield Buffer.from(before === '[\n' ? '[]\n' : '\n]\n')
}
