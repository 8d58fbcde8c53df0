import type { WebhookSubject, WebhookSubjects } from '../webhooks/ports.js'
import type { Database } from './client.js'

const FIND = {
  name: 'find_webhook_subject',
  text: `
    SELECT g.id, g.seed, g.error, g.created_at AS "createdAt", g.slugs[1] AS "imageId",
           g.batch_size AS "batchSize", g.prompt,
           coalesce(m.create_image_model, g.model_name) AS model, g.width, g.height, g.steps, g.cfg_scale AS "cfgScale",
           ARRAY(SELECT i.slug FROM images i WHERE i.generation_id = g.id AND i.removed_at IS NULL ORDER BY i.idx) AS slugs
      FROM generations g LEFT JOIN model_versions m ON m.id = g.model_version_id WHERE g.id = $1`,
}

export const webhookSubjectStore = ({ pool }: Database): WebhookSubjects => ({
  async find(generationId) {
    return (await pool.query<WebhookSubject>({ ...FIND, values: [generationId] })).rows[0]
  },
})
