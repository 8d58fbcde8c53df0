import { createHash } from 'node:crypto'
import type { ModelDefinition } from '../../src/core/catalog/model-definition.js'
import { type CheckpointOptions, checkpointOptions } from '../../src/inference/checkpoint-options.js'
import { PONY } from './given.js'

/** A checkpoint with options, as an import stores it. */
export function definitionOf(filename: string, options: CheckpointOptions, checkpoint = PONY): ModelDefinition {
  const document = JSON.stringify({
    kind: 'checkpoint',
    checkpoint,
    options: checkpointOptions.safeParse(options).data ?? options,
  })
  return { filename, hash: createHash('sha256').update(document).digest('hex'), document }
}
