import { isStorable } from '../../lib/text.js'
import type { Priced } from '../billing/checked-prices.js'
import type { CreditPack } from '../billing/credit-pack.js'
import { AppError } from '../errors.js'
import type { Acting } from './acting.js'

export interface OperatorPacks {
  /** Retired ones last. */
  list(): Promise<readonly CreditPack[]>
  /** Adds packs, or changes those of the same name. */
  import(packs: readonly CreditPack[]): Promise<void>
  /** Resolves to when it was retired first; undefined: there is no such pack. */
  retire(name: string): Promise<Date | undefined>
}

export interface PackStores {
  readonly packs: OperatorPacks
}

/** What the payment provider is to be asked for before packs are imported, outside any transaction. */
export const packPrices = (packs: readonly CreditPack[]): Priced[] =>
  packs
    .filter(({ retiredAt }) => retiredAt === null)
    .map(({ name, price }) => ({ name, price, every: null, isSold: true }))

/** All or nothing; a retired one is for sale again unless its entry says otherwise. */
export async function importPacks(acting: Acting<PackStores>, imported: readonly CreditPack[]): Promise<void> {
  const [first, ...others] = imported
  await acting.recorded(
    ({ packs }) => packs.import(imported),
    () =>
      first && others.length === 0
        ? ['saved credit pack', first.name]
        : [`imported ${imported.length} credit packs`, ''],
  )
}

/** Resolves to when it was retired first. @throws not_found */
export async function retirePack(acting: Acting<PackStores>, name: string): Promise<Date> {
  const retiredAt = await acting.recorded(
    async ({ packs }) => (isStorable(name) ? packs.retire(name) : undefined),
    (at) => at && ['retired credit pack', name],
  )
  if (!retiredAt) throw new AppError('not_found', `No pack "${name}".`, { parameter: 'pack_name' })
  return retiredAt
}
