/** The rows of images. Their files are in the image store. */
import { and, arrayContains, asc, eq, gt, isNull, notExists, type SQL, sql } from 'drizzle-orm'
import type { MovingImage } from '../../core/images/move-images.js'
import type { PublishedImages, UploadRights } from '../../core/images/ports.js'
import type { ImageInventory } from '../../core/images/reconcile-images.js'
import type { ImageRemovals, RemovedImage, Takedowns } from '../../core/images/takedown.js'
import type { Database } from '../client.js'
import { generations as g } from '../schema/generations.js'
import { images as i, takedowns } from '../schema/images.js'
import { columns, param, queryOnce, setList, statement } from '../statement.js'

const IS_REMOVED = sql<boolean>`${i.removedAt} IS NOT NULL`

export const publishedImages = ({ orm }: Database): PublishedImages => {
  const find = orm
    .select({
      ...columns(i, 'slug', 'width', 'height', 'seed', 'createdAt', 'hasThumbnail'),
      removed: IS_REMOVED,
      modelName: g.modelName,
    })
    .from(i)
    .innerJoin(g, eq(g.id, i.generationId))
    .where(eq(i.slug, sql.placeholder('slug')))
    .prepare('find_published_image')
  return { find: async (slug) => (await find.execute({ slug }))[0] }
}

/** Listed at a time. */
const IMAGES_PER_PAGE = 1000

/** Pages in the order of slugs, until there are no more rows. @param read what comes after a slug */
async function* pagesOf<Row extends { readonly slug: string }>(read: (after: string) => Promise<Row[]>) {
  for (let page = await read(''); page.length > 0; page = await read((page.at(-1) as Row).slug)) yield page
}

/** All images that were not removed. */
export const imageList = ({ orm }: Database) => ({
  count: () => orm.$count(i, isNull(i.removedAt)),

  pages: (): AsyncGenerator<MovingImage[]> =>
    pagesOf((after) =>
      orm
        .select(columns(i, 'slug', 'sha256', 'hasThumbnail'))
        .from(i)
        .where(and(gt(i.slug, after), isNull(i.removedAt)))
        .orderBy(asc(i.slug))
        .limit(IMAGES_PER_PAGE),
    ),
})

const REMOVE = statement<RemovedImage>('remove_image')`
  UPDATE ${i} SET ${setList(i, {
    removedReason: sql`CASE WHEN ${i.removedAt} IS NULL THEN ${param('reason')}::text ELSE ${i.removedReason} END`,
    removedAt: sql`coalesce(${i.removedAt}, now())`,
  })}
    FROM ${g}
   WHERE ${i.slug} = ${param('slug')} AND ${g.id} = ${i.generationId}
     AND (${param('accountId')}::uuid IS NULL OR ${g.userId} = ${param('accountId')}::uuid)
  RETURNING ${i.removedAt} AS at, ${i.removedReason} AS reason`

export const imageRemovals = ({ pool }: Database): ImageRemovals => ({
  remove: (slug, reason, accountId) => REMOVE.first(pool, { slug, reason, accountId }),
})

/** Claimed at a time. */
const TAKEDOWNS = 10

// The first wait is longer than a try may take, the last one is about an hour.
const CLAIM_TAKEDOWNS = statement<{ slug: string }>('claim_takedowns')`
  UPDATE ${takedowns} SET ${setList(takedowns, {
    attempts: sql`${takedowns.attempts} + 1`,
    dueAt: sql`now() + interval '15 seconds' * 2 ^ least(${takedowns.attempts}, 8)`,
  })}
   WHERE ${takedowns.slug} = ANY (ARRAY(
           SELECT ${takedowns.slug} FROM ${takedowns} WHERE ${takedowns.dueAt} <= now()
            ORDER BY ${takedowns.dueAt} LIMIT ${TAKEDOWNS} FOR UPDATE SKIP LOCKED))
  RETURNING ${takedowns.slug}`

export const takedownStore = ({ orm, pool }: Database): Takedowns => ({
  claimDue: async () => (await CLAIM_TAKEDOWNS.rows(pool)).map(({ slug }) => slug),

  async finish(slug) {
    await orm.delete(takedowns).where(eq(takedowns.slug, slug))
  },
})

/** Small enough for one statement's time limit, however much a user has. */
const ENDED_PER_PAGE = 1000

// A page counts what is done already too: otherwise it might search millions of rows.
const ENDED = sql`ended AS MATERIALIZED (
  SELECT ${g.id}, ${g.seq}, ${g.slugs} FROM ${g}
   WHERE ${g.userId} = ${param('userId')} AND ${g.seq} > ${param('after')} AND ${g.status} IN ('succeeded', 'failed')
   ORDER BY ${g.seq} LIMIT ${ENDED_PER_PAGE})`

const endedStatement = (name: string, change: SQL) =>
  statement<{ done: number; last: number | null }>(name)`
    WITH ${ENDED}, changed AS (${change})
    SELECT (SELECT count(*) FROM changed) AS done, (SELECT max(seq) FROM ended) AS last`

const WIPE_PROMPTS = endedStatement(
  'wipe_prompts',
  sql`UPDATE ${g} SET ${setList(g, { prompt: '', negativePrompt: '', webhookUrl: null })} FROM ended
     WHERE ${g.id} = ended.id AND (${g.prompt} <> '' OR ${g.negativePrompt} <> '') RETURNING ${g.id}`,
)

const REMOVE_ALL = endedStatement(
  'remove_images_of_user',
  sql`UPDATE ${i} SET ${setList(i, { removedAt: sql`now()`, removedReason: param('reason') })} FROM ended
     WHERE ${i.generationId} = ended.id AND ${i.removedAt} IS NULL RETURNING ${i.slug}`,
)

const SLUGS = statement<{ seq: number; slugs: string[] }>('slugs_of_user')`
  WITH ${ENDED} SELECT seq, slugs FROM ended ORDER BY seq`

export const operatorImageStore = ({ pool }: Database) => {
  /** Changes all pages, in the queue's order; resolves to how many rows were changed. */
  const inPages = async (page: typeof REMOVE_ALL, values: object): Promise<number> => {
    for (let after = 0, total = 0; ; ) {
      const { done = 0, last = null } = (await page.first(pool, { ...values, after })) ?? {}
      total += done
      if (last === null) return total
      after = last
    }
  }

  return {
    removeAllOf: (userId: string, reason: string): Promise<number> => inPages(REMOVE_ALL, { userId, reason }),

    /** Of ended generations; resolves to how many these were. */
    wipePromptsOf: (userId: string): Promise<number> => inPages(WIPE_PROMPTS, { userId }),

    /** All slugs under which the user may have files, in pages; failed generations may have left some too. */
    async *slugsOf(userId: string): AsyncGenerator<string[]> {
      for (let after = 0; ; ) {
        const rows = await SLUGS.rows(pool, { userId, after })
        const last = rows.at(-1)
        if (!last) return
        after = last.seq
        yield rows.flatMap(({ slugs }) => slugs)
      }
    },
  }
}

export const imageInventory = ({ orm, pool }: Database): ImageInventory => ({
  pages: () =>
    pagesOf((after) =>
      orm
        .select({ slug: i.slug, removed: IS_REMOVED })
        .from(i)
        .where(gt(i.slug, after))
        .orderBy(asc(i.slug))
        .limit(IMAGES_PER_PAGE),
    ),

  async unknownAmong(slugs) {
    // In one statement: a generation that ends meanwhile still has its slugs, or already its images.
    const unknown = await queryOnce<{ slug: string }>(
      pool,
      sql`SELECT slug FROM unnest(${sql.param(slugs)}::text[]) AS f (slug)
           WHERE NOT EXISTS (SELECT FROM ${i} WHERE ${i.slug} = f.slug)
          EXCEPT SELECT unnest(${g.slugs}) FROM ${g} WHERE ${g.finishedAt} IS NULL`,
    )
    return unknown.map(({ slug }) => slug)
  },

  async takeDownAgain(slug) {
    await orm.insert(takedowns).values({ slug }).onConflictDoNothing()
  },
})

export const uploadRights = ({ orm }: Database): UploadRights => ({
  async mayStore({ id, attempt }, slug) {
    const running = and(eq(g.id, id), eq(g.attempt, attempt), eq(g.status, 'processing'))
    const published = orm.select({ slug: i.slug }).from(i).where(eq(i.slug, slug))
    const found = await orm
      .select({ id: g.id })
      .from(g)
      .where(and(running, arrayContains(g.slugs, [slug]), notExists(published)))
    return found.length > 0
  },
})
