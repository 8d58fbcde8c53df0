import type { PictureRemovals } from '../generation/library/remove-picture.js'
import type { Database } from './client.js'

const REMOVE = {
  name: 'remove_picture',
  text: `
    UPDATE images i
       SET removed_reason = CASE WHEN i.removed_at IS NULL THEN $2::text ELSE i.removed_reason END,
           removed_at = coalesce(i.removed_at, now())
      FROM generations g
     WHERE i.slug = $1 AND g.id = i.generation_id AND ($3::uuid IS NULL OR g.user_id = $3::uuid)
    RETURNING i.removed_at AS at, i.removed_reason AS reason`,
}

export const pictureRemovals = ({ pool }: Database): PictureRemovals => ({
  async remove(slug, reason, accountId) {
    const { rows } = await pool.query({ ...REMOVE, values: [slug, reason ?? null, accountId ?? null] })
    return rows[0]
  },
})
