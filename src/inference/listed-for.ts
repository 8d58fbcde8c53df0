import type { ModelDefinition } from '../core/catalog/model-definition.js'
import { type CheckpointOptions, optionsIn } from './checkpoint-options.js'

/** Listings change seldom, and may be long. */
const EVERY_MS = 60_000

/**
 * Lists what options need, while there are any: again after a minute, for other options, or where `known`, the last
 * result, was forgotten because a generation has failed.
 */
export function listedFor<T>(list: (wanted: readonly CheckpointOptions[], signal: AbortSignal) => Promise<T>) {
  let last: { readonly listed: T; readonly names: string; readonly until: number } | undefined
  return async (definitions: readonly ModelDefinition[], known: T | undefined, signal: AbortSignal) => {
    const wanted = optionsIn(definitions)
    if (wanted.length === 0) return undefined
    const names = JSON.stringify(wanted)
    if (!last || last.listed !== known || last.names !== names || performance.now() >= last.until)
      last = { listed: await list(wanted, signal), names, until: performance.now() + EVERY_MS }
    return last.listed
  }
}
