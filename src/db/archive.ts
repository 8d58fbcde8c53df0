/** What is in the archive: read there, or brought back to Postgres, where all else goes on as if it had never left. */
import { sql } from 'drizzle-orm'
import { serviceUnavailable } from '../core/errors.js'
import type { ArchiveFiles } from '../core/generations/archive-months.js'
import { eachTried, isUnreadable } from '../core/images/read-each.js'
import { unseal } from '../lib/sealed.js'
import type { ArchiveContent, FileRow } from './archive-content.js'
import { damagedIn, UnreadableFile, WithheldFile } from './archive-damage.js'
import { archived as a, archiveFiles as f, archiveUses as u } from './schema/archive.js'
import { FIRST_UUID, param, type Queryable, statement } from './statement.js'

/** Of an account's generations by their submits; both ends belong to it. Undefined: no end. */
export interface Span {
  readonly from: Date | undefined
  readonly to: Date | undefined
}

/** How many files of the archive. */
export interface CopiedFiles {
  readonly copied: number
  readonly present: number
  /** Neither store has them. */
  readonly missing: number
  /** The older one did not give them, or the newer one did not take them. */
  readonly failed: number
}

interface ContentsOptions {
  readonly since?: Date
  /** Leaves out what can't be read. */
  readonly skipDamaged?: boolean
}

export interface Archive {
  /**
   * Brings back what has any of these IDs and slugs, with all that is in the same files.
   * @param accountId only what is this account's
   * @returns whether any was in the archive
   */
  bringBack(names: readonly string[], accountId?: string): Promise<boolean>
  /** Brings back one file with generations of the span, the newest or the oldest. False: there is none. */
  bringBackOneOf(accountId: string, span: Span, first: 'newest' | 'oldest'): Promise<boolean>
  /** Brings back all that an account has. Resolves to the IDs of the files that can't be read: they hold up no others. */
  bringBackAllOf(accountId: string): Promise<string[]>
  /** Where the first file of the span begins, or for the newest where it ends, in microseconds since 1970. */
  firstOf(accountId: string, span: Span, first: 'newest' | 'oldest'): Promise<number | undefined>
  /** From now on nothing of the account is archived, for 30 days. */
  keep(accountId: string): Promise<void>
  /** When something of the account was brought back or kept last, in microseconds since 1970. */
  lastUse(accountId: string): Promise<number | undefined>
  /** The file that has this ID or slug, without bringing anything back. */
  contentOf(name: string): Promise<ArchiveContent | undefined>
  /** Copies all that is not there yet, as from one image store to another. */
  copy(from: ArchiveFiles, to: ArchiveFiles): Promise<CopiedFiles>
  /**
   * What can't be read, or does not have what Postgres says, by the files' IDs and the names.
   * @param sample how many files to look at, at random; undefined: all, and all names
   */
  damaged(sample?: number): Promise<string[]>
  /** Whether there is a file of this ID that is lost or damaged. */
  isUnreadable(id: string): Promise<boolean>
  /** Of all files, one after another, or of those that were written since then. */
  contents(options?: ContentsOptions): AsyncIterable<ArchiveContent>
}

/** How long a store may be away. */
const PATIENCE_MS = 30_000

const FILE = sql`${f.id}, ${f.key}`

const OF_NAMES = statement<FileRow>('archive_files_of_names')`
  SELECT DISTINCT ${FILE} FROM ${a} JOIN ${f} ON ${f.id} = ${a.fileId}
   WHERE ${a.name} = ANY (${param('names')}::text[]) AND ${f.status} = 'stored'
     AND (${param('accountId')}::uuid IS NULL OR ${f.userId} = ${param('accountId')}::uuid)`

const ofSpan = (first: 'newest' | 'oldest') => statement<FileRow & { at: number }>(`${first}_archive_file`)`
  SELECT ${FILE}, (extract(epoch FROM ${first === 'newest' ? f.newest : f.oldest}) * 1000000)::bigint AS at FROM ${f}
   WHERE ${f.userId} = ${param('accountId')}::uuid AND ${f.status} = 'stored'
     AND ${f.newest} >= coalesce(${param('from')}::timestamptz, '-infinity')
     AND ${f.oldest} <= coalesce(${param('to')}::timestamptz, 'infinity')
   ORDER BY ${first === 'newest' ? sql`${f.newest} DESC` : sql`${f.newest}`} LIMIT 1`
const OF_SPAN = { newest: ofSpan('newest'), oldest: ofSpan('oldest') }

const KEEP = statement('keep_from_archive')`SELECT keep_from_archive(${param('accountId')}::uuid)`

const LAST_USE = statement<{ at: number }>('last_archive_use')`
  SELECT (extract(epoch FROM ${u.at}) * 1000000)::bigint AS at FROM ${u} WHERE ${u.userId} = ${param('accountId')}::uuid`

const NEXT_FILES = statement<FileRow>('next_archive_files')`
  SELECT ${FILE} FROM ${f}
   WHERE ${f.status} = 'stored' AND ${f.id} > ${param('after')}::uuid
     AND ${f.changedAt} >= coalesce(${param('since')}::timestamptz, '-infinity')
   ORDER BY ${f.id} LIMIT 100`

const OF_ACCOUNT = statement<FileRow>('archive_files_of_account')`
  SELECT ${FILE} FROM ${f}
   WHERE ${f.userId} = ${param('accountId')}::uuid AND ${f.status} = 'stored' ORDER BY ${f.oldest}, ${f.id}`

const BY_ID = statement<FileRow>(
  'archive_file',
)`SELECT ${FILE} FROM ${f} WHERE ${f.id} = ${param('id')}::uuid AND ${f.status} = 'stored'`

const BRING_BACK = statement('bring_back')`SELECT bring_back(${param('id')}::uuid, ${param('content')}::jsonb)`

const WHAT_TO_DO = 'put it back from a backup, or give it up with "easel archive give-up".'

export function openArchive(pool: Queryable, files: ArchiveFiles): Archive {
  /** Undefined: somebody has brought it back meanwhile. */
  async function textOf({ id, key }: FileRow): Promise<string | undefined> {
    if (!key) return undefined
    const isStored = async () => (await IS_STORED.count(pool, { id })) > 0
    // Some stores forbid what is not there.
    const bytes = await files.read(id).catch(async (cause) => {
      if (!(await isStored())) return undefined
      if (!isUnreadable(cause)) throw serviceUnavailable(5, cause)
      throw new WithheldFile(`The archive's file ${id} can't be read. ${cause.message}`, { cause })
    })
    if (!bytes) {
      if (!(await isStored())) return undefined
      throw new UnreadableFile(`The archive's file ${id} is not in the image store: ${WHAT_TO_DO}`)
    }
    return unseal(bytes, key).catch((cause) => {
      throw new UnreadableFile(`The archive's file ${id} is damaged: ${WHAT_TO_DO}`, { cause })
    })
  }

  async function* allFiles(since?: Date) {
    for (let after = FIRST_UUID; ; ) {
      const found = await NEXT_FILES.rows(pool, { after, since })
      yield* found
      const last = found.at(-1)
      if (!last) return
      after = last.id
    }
  }

  const coming = new Map<string, Promise<void>>()
  /** In this process once at a time: others that need it wait for it. */
  function bringBack(file: FileRow): Promise<void> {
    const work = async () => {
      const content = await textOf(file)
      if (content === undefined) return
      await BRING_BACK.run(pool, { id: file.id, content })
      // It has no key any more. If it stays, the next pass removes it.
      await files.remove(file.id).catch(() => undefined)
    }
    const known = coming.get(file.id) ?? work().finally(() => coming.delete(file.id))
    coming.set(file.id, known)
    return known
  }

  return {
    async bringBack(names, accountId) {
      const found = names.length === 0 ? [] : await OF_NAMES.rows(pool, { names, accountId })
      for (const file of found) await bringBack(file)
      return found.length > 0
    },

    async bringBackOneOf(accountId, { from, to }, first) {
      const file = await OF_SPAN[first].first(pool, { accountId, from, to })
      if (file) await bringBack(file)
      return file !== undefined
    },

    async bringBackAllOf(accountId) {
      const unreadable = new Set<string>()
      for (;;) {
        const files = (await OF_ACCOUNT.rows(pool, { accountId })).filter(({ id }) => !unreadable.has(id))
        if (files.length === 0) return [...unreadable]
        for (const file of files)
          await bringBack(file).catch((error) => {
            if (!(error instanceof UnreadableFile)) throw error
            unreadable.add(file.id)
          })
      }
    },

    firstOf: async (accountId, { from, to }, first) => (await OF_SPAN[first].first(pool, { accountId, from, to }))?.at,

    keep: (accountId) => KEEP.run(pool, { accountId }),

    lastUse: async (accountId) => (await LAST_USE.first(pool, { accountId }))?.at,

    async contentOf(name) {
      const file = await OF_NAMES.first(pool, { names: [name], accountId: undefined })
      const content = file && (await textOf(file))
      return content === undefined ? undefined : JSON.parse(content)
    },

    async copy(from, to) {
      const counts = { copied: 0, present: 0, missing: 0, failed: 0 }
      const tryOne = eachTried(PATIENCE_MS, () => counts.failed++)
      const copy = async (id: string): Promise<keyof CopiedFiles | undefined> => {
        // Where the store forbids what is not there, it is put in any case.
        if (await to.read(id).catch(() => undefined)) return 'present'
        const bytes = await from.read(id)
        if (!bytes) return (await IS_STORED.count(pool, { id })) > 0 ? 'missing' : undefined
        await to.put(id, bytes)
        return 'copied'
      }
      for await (const { id } of allFiles()) {
        const outcome = (await tryOne(() => copy(id)))?.done
        if (outcome) counts[outcome]++
      }
      return counts
    },

    damaged: (sample) => damagedIn(pool, { textOf, all: allFiles }, sample),

    async isUnreadable(id) {
      const file = await BY_ID.first(pool, { id })
      if (!file) return false
      try {
        await textOf(file)
        return false
      } catch (error) {
        if (error instanceof UnreadableFile) return !(error instanceof WithheldFile)
        throw error
      }
    },

    async *contents({ since, skipDamaged = false } = {}) {
      for await (const file of allFiles(since)) {
        const content = await textOf(file).catch((error) => {
          if (skipDamaged && error instanceof UnreadableFile) return undefined
          throw error
        })
        if (content !== undefined) yield JSON.parse(content) as ArchiveContent
      }
    },
  }
}

const IS_STORED = statement('is_archive_file_stored')`
  SELECT FROM ${f} WHERE ${f.id} = ${param('id')}::uuid AND ${f.status} = 'stored'`
