/** What paths name. Each route gets things of its own, so that no request spoils another one's. */
import sharp from 'sharp'
import { hashToken, newToken } from '../../../src/core/accounts/session.js'
import { DRAWN_COVER } from '../../../src/core/catalog/cover.js'
import { credentialStore } from '../../../src/db/accounts/sessions.js'
import { wholeImageStore } from '../../../src/process/image-files.js'
import { givenFiles, givenImages } from '../../support/given-images.js'
import { givenPlan } from '../../support/given-plan.js'
import { type GivenUser, givenGeneration, givenKey, givenUser, MODEL } from '../../support/givens.js'
import type { Service } from '../../support/service.js'

export interface GivenThing {
  /** By their names in the path. */
  readonly params: Readonly<Record<string, string>>
  /** Everything that is stored of it, to see whether it has changed. */
  readonly look: string
}

type Make = (service: Service, owner: GivenUser) => Promise<GivenThing>

const rowOf = (table: string, key: string, id: string) =>
  `SELECT to_jsonb(t) - 'last_used_at' - 'seen_at' AS row FROM ${table} t WHERE ${key}::text = '${id}'`

/** Inserts a row of the owner's. */
const inserted =
  (table: string, columns: string, values: string): Make =>
  async ({ db }, owner) => {
    const sql = `INSERT INTO ${table} (user_id, ${columns}) VALUES ($1, ${values}) RETURNING id::text`
    const { id } = (await db.pool.query(sql, [owner.id])).rows[0]
    return { params: { id }, look: rowOf(table, 'id', id) }
  }

const image: Make = async ({ db, config }, owner) => {
  const [slug = ''] = await givenImages(db, owner, [{}])
  await givenFiles(config, [slug])
  const params = { id: slug, slug, left: slug, right: slug, file: `${slug}.png` }
  return { params, look: `${rowOf('images', 'slug', slug)} UNION ALL ${rowOf('folder_images', 'slug', slug)}` }
}

const account: Make = async ({ db }) => {
  const { id, username } = await givenUser(db)
  return { params: { name: username, username }, look: rowOf('users', 'id', id) }
}

const THINGS = {
  account,
  image,
  deletedImage: async (service, owner) => {
    const made = await image(service, owner)
    await service.db.pool.query(`UPDATE images SET delete_at = now() + interval '1 hour' WHERE slug = $1`, [
      made.params.slug,
    ])
    return made
  },
  folder: inserted('folders', 'name', `'Boats'`),
  generation: async ({ db }, owner) => {
    const [slug] = await givenImages(db, owner, [{}])
    const { id } = (await db.pool.query('SELECT generation_id AS id FROM images WHERE slug = $1', [slug])).rows[0]
    return { params: { id }, look: rowOf('generations', 'id', id) }
  },
  idea: async (service, owner) => {
    await service.db.pool.query(
      `INSERT INTO up_next (user_id, paused) VALUES ($1, 'by_person') ON CONFLICT (user_id) DO UPDATE SET paused = 'by_person', due_at = NULL`,
      [owner.id],
    )
    return inserted(
      'up_next_ideas',
      'position, body',
      `1, '{"prompt": "a lighthouse", "model_version_id": 10}'`,
    )(service, owner)
  },
  key: async ({ db }, owner) => {
    const { keyId } = await givenKey(db, owner.id)
    return { params: { id: keyId }, look: rowOf('api_keys', 'id', keyId) }
  },
  model: async () => ({
    params: { id: `${MODEL.id}`, file: DRAWN_COVER },
    look: rowOf('model_versions', 'id', `${MODEL.id}`),
  }),
  newAddress: async ({ db }, owner) => {
    const hash = hashToken(newToken())
    await credentialStore(db).addLink(owner.id, hash, `${crypto.randomUUID()}@mail.test`)
    return { params: {}, look: rowOf('sign_in_links', 'token_hash', `\\x${hash.toString('hex')}`) }
  },
  operatorKey: account,
  pack: async ({ db }) => {
    const name = `Pack ${crypto.randomUUID()}`
    await db.pool.query(`INSERT INTO credit_packs (name, credits, price) VALUES ($1, 10, 'price_1')`, [name])
    return { params: { name }, look: rowOf('credit_packs', 'name', name) }
  },
  plan: async ({ db }) => {
    const { name } = await givenPlan(db)
    return { params: { name }, look: rowOf('plans', 'name', name) }
  },
  preset: async () => ({ params: { id: MODEL.createImageModel ?? '' }, look: 'SELECT 1' }),
  privateImage: async (service, owner) => {
    const [slug = ''] = await givenImages(service.db, owner, [{ hasThumbnail: false }])
    const background = '#3c7a8c'
    const png = await sharp({ create: { width: 64, height: 96, channels: 3, background } })
      .png()
      .toBuffer()
    await wholeImageStore(service.config, service.db).privateFiles.put(slug, png, {})
    await service.db.pool.query('UPDATE images SET private = true WHERE slug = $1', [slug])
    return { params: { slug, file: `${slug}.png` }, look: rowOf('images', 'slug', slug) }
  },
  queued: async ({ db }, owner) => {
    const { id } = await givenGeneration(db, owner)
    return { params: { id }, look: rowOf('generations', 'id', id) }
  },
  refusal: inserted('refused_prompts', 'parameter, category, matched, prompt', `'prompt', 'x', '{}', 'x'`),
  report: async (service, owner) => {
    const made = await image(service, owner)
    await service.db.pool.query(`INSERT INTO image_reports (slug, reason) VALUES ($1, 'illegal')`, [made.params.slug])
    return made
  },
  session: async ({ db }, owner) => {
    const sql = `INSERT INTO sessions (user_id, token_hash, expires_at) VALUES ($1, $2, now() + interval '1 day') RETURNING id`
    const { id } = (await db.pool.query(sql, [owner.id, hashToken(newToken())])).rows[0]
    return { params: { id }, look: rowOf('sessions', 'id', id) }
  },
  settings: inserted('saved_settings', 'name, style, body', `gen_random_uuid(), '', '{}'`),
  strangersImage: async (service) => image(service, await givenUser(service.db)),
  webhook: inserted(
    'webhook_endpoints',
    'id, kind, url, events, secret',
    `'whe_' || replace(gen_random_uuid()::text, '-', ''), 'account', 'https://receiver.test/' || gen_random_uuid(), '{generation.succeeded}', 'whsec_x'`,
  ),
} satisfies Readonly<Record<string, Make>>

export type Thing = keyof typeof THINGS

export const givenThing = (service: Service, owner: GivenUser, thing: Thing): Promise<GivenThing> =>
  THINGS[thing](service, owner)
