import type { CreditPack } from '../billing/credit-pack.js'
import { AppError } from '../errors.js'
import type { Acting } from './acting.js'
import type { RequirePrices } from './plans.js'

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

/** All or nothing; a retired one is for sale again unless its entry says otherwise. @throws invalid_request, unavailable */
export async function importPacks(
  acting: Acting<PackStores>,
  imported: readonly CreditPack[],
  requirePrices: RequirePrices,
): Promise<void> {
  const sold = imported.filter(({ retiredAt }) => retiredAt === null)
  await requirePrices(sold.map(({ name, price }) => ({ name, price, every: null })))
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
    ({ packs }) => packs.retire(name),
    (at) => at && ['retired credit pack', name],
  )
  if (!retiredAt) throw new AppError('not_found', `No pack "${name}".`, { parameter: 'pack_name' })
  return retiredAt
}
