import type { FoundGeneration } from '../db/history-store.js'
import { facts, table } from './layout.js'

export function jobJson(
  { generation: g, username, key, images, entries }: FoundGeneration,
  url: (slug: string) => string,
) {
  return {
    id: g.id,
    status: g.status,
    error: g.error,
    username,
    key: { id: key.id, kind: key.kind, name: key.name },
    lane: g.lane,
    metered: g.metered,
    credits_charged: g.cost,
    model_version_id: g.modelVersionId,
    model_name: g.modelName,
    filename: g.filename,
    prompt: g.prompt,
    negative_prompt: g.negativePrompt,
    width: g.width,
    height: g.height,
    batch_size: g.batchSize,
    steps: g.steps,
    cfg_scale: g.cfgScale,
    sampler: g.sampler,
    seed: g.seed,
    attempt: g.attempt,
    tries: g.tries,
    deaths: g.deaths,
    worker: g.worker,
    backend: g.backend,
    created_at: g.createdAt,
    started_at: g.startedAt,
    finished_at: g.finishedAt,
    deadline_at: g.deadlineAt,
    lease_until: g.leaseUntil,
    images: images.map((image) => ({
      slug: image.slug,
      url: image.removedAt ? null : url(image.slug),
      seed: image.seed,
      width: image.width,
      height: image.height,
      bytes: image.bytes,
      sha256: image.sha256,
      removed_at: image.removedAt,
      removed_reason: image.removedReason,
    })),
    ledger: entries.map(({ kind, delta, balance, createdAt }) => ({ kind, delta, balance, created_at: createdAt })),
  }
}

export function jobFacts(
  { generation: g, username, key, images, entries }: FoundGeneration,
  url: (slug: string) => string,
) {
  const parts = [
    facts([
      ['id', g.id],
      ['status', g.status],
      ['error', g.error],
      ['user', username],
      ['key', `${key.id} (${key.kind}${key.name && `, ${key.name}`})`],
      ['lane', g.lane],
      ['credits', g.metered ? 'metered' : g.cost],
      ['model', `${g.modelName} (version ${g.modelVersionId}, ${g.filename})`],
      ['prompt', g.prompt],
      ['negative prompt', g.negativePrompt],
      ['images', `${g.batchSize} of ${g.width} × ${g.height}`],
      ['steps', g.steps],
      ['cfg scale', g.cfgScale],
      ['sampler', g.sampler],
      ['seed', g.seed],
      ['attempt', `${g.attempt} (${g.tries} counted as tries, ${g.deaths} ended by a worker's death)`],
      ['worker', g.worker],
      ['backend', g.backend],
      ['created', g.createdAt],
      ['started', g.startedAt],
      ['finished', g.finishedAt],
      ['deadline', g.deadlineAt],
      ['lease until', g.leaseUntil],
    ]),
  ]
  if (images.length > 0) {
    const rows = images.map((image) => [
      ...[image.idx, image.seed, image.bytes],
      image.removedAt ? `removed ${image.removedAt.toISOString()}` : url(image.slug),
      image.removedReason,
    ])
    parts.push(table(['image', 'seed', 'bytes', 'url', 'reason'], rows, ''))
  }
  if (entries.length > 0) {
    const rows = entries.map(({ kind, delta, balance, createdAt }) => [createdAt, kind, delta, balance])
    parts.push(table(['time', 'kind', 'delta', 'balance'], rows, ''))
  }
  return parts.join('\n\n')
}
