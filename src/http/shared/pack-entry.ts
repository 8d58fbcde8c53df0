/** An entry of an import of credit packs: JSON's names on one side, the core's on the other. */
import { z } from 'zod'
import type { CreditPack } from '../../core/billing/credit-pack.js'
import { AppError } from '../../core/errors.js'
import { mistakeOf, name, RETIRED } from './plan-entry.js'

const CREDITS = `must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`
const PRICE = 'must be the ID of a price at the payment provider, like price_1Abc'

const entry = z.strictObject({
  name,
  credits: z.int(CREDITS).min(1, CREDITS),
  price: z.string(PRICE).regex(/^[\w-]{1,255}$/, PRICE),
  retired_at: z.iso.datetime(RETIRED).nullish(),
})

/** @throws invalid_request with one sentence that names the field */
export function packOfEntry(value: unknown): CreditPack {
  const parsed = entry.safeParse(value)
  if (!parsed.success) throw new AppError('invalid_request', `${mistakeOf(entry, parsed.error, value)}.`)
  const { retired_at, ...same } = parsed.data
  return { ...same, retiredAt: retired_at ? new Date(retired_at) : null }
}

/** A pack as an entry, which can be imported again. */
export const toPackEntry = ({ retiredAt, ...its }: CreditPack) => ({
  ...its,
  ...(retiredAt && { retired_at: retiredAt }),
})
