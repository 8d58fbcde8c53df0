import { guardOff, type SwitchableGuard } from '../../failpoint.js'

/** What a rule has found to do: nothing where a chaos run has switched the rule off. */
export const found = async <T>(guard: SwitchableGuard, look: () => Promise<readonly T[]>): Promise<readonly T[]> =>
  guardOff(guard) ? [] : look()
