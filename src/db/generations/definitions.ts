import { sql } from 'drizzle-orm'
import type { DefinitionStore, ModelDefinition } from '../../core/catalog/model-definition.js'
import { snapshot } from '../../lib/batch.js'
import type { Database } from '../client.js'
import { modelDefinitions as d, modelVersions as m } from '../schema/catalog.js'
import { generations as g } from '../schema/generations.js'
import { columns, param, selectAs, statement } from '../statement.js'
import { QUEUED } from './claim.js'

/** For how long workers look at a definition that an import has asked about. */
const ASKED_FOR_MS = 60_000

const of = (lane: string) => sql`EXISTS (
  SELECT FROM ${g} WHERE ${QUEUED} AND ${g.lane} = ${sql.raw(`'${lane}'`)} AND ${g.filename} = ${d.filename})`

// Each but the age of a question is one look into an index.
const NEEDED = statement<Pick<ModelDefinition, 'filename'>>('needed_definitions')`
  SELECT ${d.filename} FROM ${d}
   WHERE EXISTS (SELECT FROM ${m} WHERE ${m.enabled} AND ${m.filename} = ${d.filename})
      OR ${d.askedAt} > now() - interval '1 millisecond' * ${ASKED_FOR_MS} OR ${of('personal')}
      OR ${of('create_image')} OR ${d.filename} IN (SELECT ${g.filename} FROM ${g} WHERE ${g.status} = 'processing')`

const READ = statement<ModelDefinition>('read_definitions')`
  SELECT ${selectAs(columns(d, 'filename', 'hash', 'document'))} FROM ${d} WHERE ${d.filename} = ANY (${param('filenames')}::text[])`

/** Reads each document once, as long as it is needed: none changes. */
export function definitionStore({ pool }: Pick<Database, 'pool'>): DefinitionStore {
  let known = new Map<string, ModelDefinition>()
  const look = async () => {
    const needed = new Set((await NEEDED.rows(pool, {})).map(({ filename }) => filename))
    const filenames = [...needed].filter((filename) => !known.has(filename))
    const read = filenames.length > 0 ? await READ.rows(pool, { filenames }) : []
    const all = [...known.values(), ...read].filter(({ filename }) => needed.has(filename))
    known = new Map(all.map((definition) => [definition.filename, definition]))
    return all
  }
  const needed = snapshot(look, { freshMs: 1000 })
  return { needed: () => needed().catch(() => [...known.values()]) }
}
