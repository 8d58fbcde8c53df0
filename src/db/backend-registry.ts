import type { BackendRegistry } from '../generation/run/claim.js'
import type { Database } from './client.js'

// One that was not seen for a while counts as changed: others may not have come back yet, like it after an outage.
const ANNOUNCE = {
  name: 'announce_backend',
  text: `
    INSERT INTO backends AS b (worker, name, up, models, samplers, max_seed, size_multiple, max_cfg_scale)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (worker, name) DO UPDATE
      SET up = excluded.up, models = excluded.models, samplers = excluded.samplers, max_seed = excluded.max_seed,
          size_multiple = excluded.size_multiple, max_cfg_scale = excluded.max_cfg_scale, seen_at = now(),
          changed_at = CASE WHEN b.seen_at < now() - interval '15 seconds'
            OR (b.models, b.samplers, b.max_seed, b.size_multiple, b.max_cfg_scale) IS DISTINCT FROM
               (excluded.models, excluded.samplers, excluded.max_seed, excluded.size_multiple, excluded.max_cfg_scale) THEN now() ELSE b.changed_at END`,
}

export const backendRegistry = ({ pool }: Database): BackendRegistry => ({
  async announce(worker, backend, up, { models, samplers, maxSeed, sizeMultiple, maxCfgScale }) {
    const values = [worker, backend, up, models, samplers, maxSeed, sizeMultiple, maxCfgScale]
    await pool.query({ ...ANNOUNCE, values })
  },
})
