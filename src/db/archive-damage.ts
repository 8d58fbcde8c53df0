/** What of the archive can't be read, or does not have what Postgres says. */
import { randomUUID } from 'node:crypto'
import type { ArchiveContent, FileRow } from './archive-content.js'
import { archived as a, archiveFiles as f } from './schema/archive.js'
import { allGenerations as g } from './schema/generations.js'
import { allImages as i } from './schema/images.js'
import { FIRST_UUID, param, type Queryable, statement } from './statement.js'

/** The file is lost or damaged. */
export class UnreadableFile extends Error {}

/** The file is there, and the image store does not give it: nobody should give it up. */
export class WithheldFile extends UnreadableFile {}

const SOME_FILES = statement<FileRow>('some_archive_files')`
  SELECT ${f.id}, ${f.key} FROM ${f} WHERE ${f.status} = 'stored' AND ${f.id} > ${param('from')}::uuid ORDER BY ${f.id} LIMIT ${param('sample')}`

// Of a file that was brought back meanwhile nothing is missing.
const HAS_NAMES = statement('archive_file_has_names')`
  SELECT WHERE NOT EXISTS (SELECT FROM ${f} WHERE ${f.id} = ${param('id')}::uuid AND ${f.status} = 'stored')
      OR ${param('count')}::integer = (SELECT count(*) FROM ${a} WHERE ${a.fileId} = ${param('id')}::uuid AND ${a.name} = ANY (${param('names')}::text[]))`

/** Names without a file, and those that are in the tables, too. Each takes a look into all months: so many are looked at at a time. */
const NAMES_PER_PAGE = 1000
const LOST_NAMES = statement<{ last: string | null; lost: string[] }>('lost_archived_names')`
  SELECT max(name) AS last, coalesce(array_agg(name) FILTER (WHERE is_lost), '{}') AS lost FROM (
    SELECT name, NOT EXISTS (SELECT FROM ${f} WHERE ${f.id} = page.file_id AND ${f.status} IN ('stored', 'lost') OFFSET 0)
                 OR EXISTS (SELECT FROM ${g} WHERE ${g.id} = page.name OFFSET 0)
                 OR EXISTS (SELECT FROM ${i} WHERE ${i.slug} = page.name OFFSET 0) AS is_lost
      FROM (SELECT ${a.name}, ${a.fileId} FROM ${a} WHERE ${a.name} > ${param('after')}::text
             ORDER BY ${a.name} LIMIT ${NAMES_PER_PAGE} OFFSET 0) page) names`
/** More of them say no more. */
const MAX_LOST_NAMES = 1000

const namesIn = ({ generations, images }: ArchiveContent) => [
  ...generations.map(({ id }) => id),
  ...images.map(({ slug }) => slug),
]

interface Files {
  /** Undefined: somebody has brought it back meanwhile. @throws UnreadableFile */
  textOf(file: FileRow): Promise<string | undefined>
  all(): AsyncIterable<FileRow>
}

/** `Archive.damaged` */
export async function damagedIn(pool: Queryable, files: Files, sample: number | undefined): Promise<string[]> {
  const isWhole = async (file: FileRow) => {
    const text = await files.textOf(file)
    if (text === undefined) return true
    const names = namesIn(JSON.parse(text))
    return (await HAS_NAMES.count(pool, { id: file.id, names, count: names.length })) > 0
  }
  const found: string[] = []
  for await (const file of sample === undefined ? files.all() : await someFiles(pool, sample)) {
    const isRight = await isWhole(file).catch((error) => {
      if (error instanceof UnreadableFile) return false
      throw error
    })
    if (!isRight) found.push(file.id)
  }
  return sample === undefined ? [...found, ...(await lostNames(pool))] : found
}

/** Those behind a random place, and the first ones where that is near the end. */
async function someFiles(pool: Queryable, sample: number): Promise<FileRow[]> {
  const rows = await SOME_FILES.rows(pool, { from: randomUUID(), sample })
  return rows.length < sample ? SOME_FILES.rows(pool, { from: FIRST_UUID, sample }) : rows
}

const GIVE_UP = statement<{ generations: number }>('give_up_unreadable_file')`
  UPDATE ${f} SET status = 'lost', key = NULL, changed_at = now() WHERE ${f.id} = ${param('id')}::uuid AND ${f.status} = 'stored'
  RETURNING ${f.generations}`

/**
 * Gives up a file that can't be read: nobody asks for it any more, and what it had is known to be lost.
 * @returns how many generations these were; undefined: there is no such file
 */
export const giveUpFile = async (pool: Queryable, id: string): Promise<number | undefined> =>
  (await GIVE_UP.first(pool, { id }))?.generations

async function lostNames(pool: Queryable): Promise<string[]> {
  const found: string[] = []
  for (let after = ''; found.length < MAX_LOST_NAMES; ) {
    const { last = null, lost = [] } = (await LOST_NAMES.first(pool, { after })) ?? {}
    if (last === null) break
    found.push(...lost)
    after = last
  }
  return found
}
