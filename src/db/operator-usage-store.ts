import type { Database } from './client.js'

export interface KeyUsage {
  readonly keyId: string
  readonly keyName: string
  readonly hint: string
  readonly modelVersionId: number
  readonly modelName: string
  readonly modelVersionName: string
  readonly images: number
}

const USAGE = `
  SELECT k.id AS "keyId", k.name AS "keyName", k.hint, m.id AS "modelVersionId", m.model_name AS "modelName",
         m.name AS "modelVersionName", used.images
    FROM (SELECT api_key_id, model_version_id, count(*) AS images FROM usage
           WHERE user_id = $1 AND created_at >= coalesce($2::timestamptz, '-infinity') AND created_at < coalesce($3::timestamptz, 'infinity')
           GROUP BY api_key_id, model_version_id) used
    JOIN api_keys k ON k.id = used.api_key_id
    JOIN model_versions m ON m.id = used.model_version_id
   ORDER BY k.created_at, k.id, lower(m.model_name) COLLATE "C", m.id`

export const operatorUsageStore = ({ pool }: Database) => ({
  /** Images made with developer keys, from `since` until before `until`. */
  async of(userId: string, since: Date | undefined, until: Date | undefined): Promise<KeyUsage[]> {
    return (await pool.query<KeyUsage>(USAGE, [userId, since ?? null, until ?? null])).rows
  },
})
