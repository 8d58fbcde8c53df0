/** What the nodes of a workflow take, as limits of a model version. */
import type { Range } from '../core/catalog/model-parameters.js'
import { SIZE_STEP } from '../core/generations/generation.js'
import { MAX_SIDE, MIN_SIDE, PERSONAL_LIMITS } from '../http/shared/generation-fields.js'
import type { NumberLimits } from '../inference/comfyui/workflow/number-limits.js'
import { camelCase } from '../lib/names.js'

const SIDES = { min: MIN_SIDE, max: MAX_SIDE, step: SIZE_STEP }
const API_LIMITS: Record<string, Range & { readonly step?: number }> = {
  ...{ steps: PERSONAL_LIMITS.steps, cfg_scale: PERSONAL_LIMITS.cfg_scale, width: SIDES, height: SIDES },
}

/** Those limits of a workflow's nodes that are narrower than the API's own, by the API's names; undefined if none is. */
export function limitsWithinApi(limits: NumberLimits): Record<string, Range> | undefined {
  const narrower = Object.entries(API_LIMITS).flatMap(([name, { min, max, step = 0 }]) => {
    const range = limits[camelCase(name) as keyof NumberLimits]
    const least = Math.max(min, step ? Math.ceil((range?.min ?? min) / step) * step : (range?.min ?? min))
    const most = Math.min(max, step ? Math.floor((range?.max ?? max) / step) * step : (range?.max ?? max))
    return least <= most && (least > min || most < max) ? [[name, { min: least, max: most }] as const] : []
  })
  return narrower.length > 0 ? Object.fromEntries(narrower) : undefined
}
