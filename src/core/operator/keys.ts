/** API keys of any account. */
import type { ApiKeyKind, OperatorScope, Role } from '../accounts/account.js'
import { apiKeyHint, hashApiKey, type KeyLimits, newApiKey, operatorKeyPrefix, shownKey } from '../accounts/api-key.js'
import { AppError, invalidParameter } from '../errors.js'
import { type AccountStores, requireAccount } from './accounts.js'
import type { Acting } from './acting.js'
import { type CatalogChanges, noSuchVersion } from './catalog.js'

export interface AdministeredKey extends KeyLimits {
  readonly id: string
  readonly kind: ApiKeyKind
  readonly name: string
  readonly hint: string
  /** What an operator's key may change; null: it is none. */
  readonly scope: OperatorScope | null
  readonly concurrency: number
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
  readonly revokedAt: Date | null
  readonly spentThisMonth: number
}

/** What is undefined stays as it is. */
export type KeyChange = { readonly [Field in keyof KeyLimits]?: KeyLimits[Field] | undefined } & {
  readonly name?: string | undefined
}

interface StoredKey extends KeyChange {
  readonly userId: string
  readonly kind: ApiKeyKind
  readonly name: string
  readonly hash: Buffer
  readonly hint: string
  readonly scope?: OperatorScope | undefined
  /** Of developer keys; undefined: as many as usual. */
  readonly concurrency?: number | undefined
}

/** What was made with a key and a model version. */
export interface KeyUsage {
  readonly keyId: string
  /** `website`: of what was made there. */
  readonly kind: Exclude<ApiKeyKind, 'operator'>
  readonly keyName: string
  readonly hint: string
  readonly modelVersionId: number
  readonly modelName: string
  readonly modelVersionName: string
  /** A metered one counts when it is made, a charged one when it is asked for. */
  readonly images: number
  /** Charged, less what was given back; 0 with a developer key. */
  readonly credits: number
}

/** Whose key it is. */
export interface KeyHolder {
  readonly username: string
  readonly role: Role
}

export interface OperatorKeys {
  /** Oldest first, revoked ones too; not the website's own. */
  list(accountId: string): Promise<readonly AdministeredKey[]>
  /** Resolves to its ID. */
  create(key: StoredKey): Promise<string>
  /** Undefined: no such key, or it is revoked. */
  change(id: string, change: KeyChange): Promise<(KeyHolder & { readonly kind: ApiKeyKind }) | undefined>
  /** Every replica refuses it from the next request on. `revokedAt`: the first time. Undefined: no such key. */
  revoke(id: string): Promise<(KeyHolder & { readonly revokedAt: Date; readonly isNew: boolean }) | undefined>
  /** From `since` until before `until`. */
  usage(accountId: string, since: Date | undefined, until: Date | undefined): Promise<readonly KeyUsage[]>
}

export type KeyStores = AccountStores & {
  readonly keys: OperatorKeys
  readonly catalog: Pick<CatalogChanges, 'list'>
}

export interface NewKey extends KeyChange {
  readonly kind: Exclude<ApiKeyKind, 'website'>
  readonly concurrency?: number | undefined
  /** Of an operator's key. */
  readonly scope?: OperatorScope | undefined
}

/** Makes a key, which is stored nowhere. @throws not_found, invalid_request */
export async function createKey(
  acting: Acting<KeyStores>,
  name: string,
  { kind, scope, concurrency, name: keyName = '', ...limits }: NewKey,
  prefix: string,
): Promise<{ readonly id: string; readonly key: string; readonly username: string }> {
  const isOperators = kind === 'operator'
  if (concurrency !== undefined && kind !== 'developer')
    throw invalidParameter('concurrency', 'Only a developer key has a concurrency: leave it out, or make one.')
  if (scope !== undefined && !isOperators)
    throw invalidParameter('scope', 'Only an operator key has a scope: leave it out, or make one.')
  if (isOperators && (limits.models || limits.monthlyLimit))
    throw new AppError(
      'invalid_request',
      'An operator key generates nothing: it has no models and no limit of credits.',
    )
  if (kind === 'developer' && limits.monthlyLimit) throw meteredKey()
  await requireModels(acting.stores, limits.models)
  const { id: userId, username, role } = await requireAccount(acting.stores, name)
  if (isOperators && role !== 'operator')
    throw new AppError(
      'invalid_request',
      `User "${username}" is no operator: make them one before they get such a key.`,
    )
  const key = newApiKey(isOperators ? operatorKeyPrefix(prefix) : prefix)
  const stored = { hash: hashApiKey(key), hint: apiKeyHint(key), concurrency, ...limits }
  const may = isOperators ? (scope ?? 'all') : undefined
  const id = await acting.recorded(
    ({ keys }) => keys.create({ userId, kind, name: keyName, scope: may, ...stored }),
    (created) => [`created ${kind} key ${created}${may ? ` with the scope ${may}` : ''}`, username],
  )
  return { id, key, username }
}

const meteredKey = () =>
  invalidParameter('monthly_limit', 'A developer key is metered, not charged: it can have no monthly_limit.')

async function requireModels({ catalog }: KeyStores, models: readonly number[] | null | undefined): Promise<void> {
  if (!models) return
  const known = new Set((await catalog.list()).map(({ id }) => id))
  const unknown = models.find((id) => !known.has(id))
  if (unknown !== undefined) throw noSuchVersion(unknown)
}

/** @param check throws for a key that must not be changed. @throws not_found, invalid_request */
export async function changeKey(
  acting: Acting<KeyStores>,
  id: string,
  change: KeyChange,
  check: (holder: KeyHolder) => void = () => undefined,
): Promise<void> {
  await requireModels(acting.stores, change.models)
  const changed = await acting.recorded(
    async ({ keys }) => {
      const key = ID.test(id) ? await keys.change(id, change) : undefined
      if (key?.kind === 'developer' && change.monthlyLimit) throw meteredKey()
      if (key) check(key)
      return key
    },
    (key) => key && [`changed key ${id}`, key.username],
  )
  if (!changed) throw new AppError('not_found', `No key that works has the ID "${id}".`, { parameter: 'key_id' })
}

/** Resolves to its first revocation. @throws not_found */
export async function revokeKey(
  acting: Acting<KeyStores>,
  id: string,
  check: (holder: KeyHolder) => void = () => undefined,
): Promise<Date> {
  const revoked = await acting.recorded(
    async ({ keys }) => {
      const key = ID.test(id) ? await keys.revoke(id) : undefined
      if (key) check(key)
      return key
    },
    (it) => (it?.isNew ? [`revoked key ${id}`, it.username] : undefined),
  )
  if (!revoked) throw new AppError('not_found', `No key has the ID "${id}".`, { parameter: 'key_id' })
  return revoked.revokedAt
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** As they are shown: the hint with the prefix, and only what a key of its kind has. @throws not_found */
export async function listKeys(stores: KeyStores, name: string, prefix: string) {
  const { id, username } = await requireAccount(stores, name)
  const keys = (await stores.keys.list(id)).map((key) => ({
    ...key,
    hint: shownKey(key, prefix),
    concurrency: key.kind === 'developer' ? key.concurrency : null,
  }))
  return { username, keys }
}

/** @throws not_found, invalid_request */
export async function usageOf(
  stores: KeyStores,
  name: string,
  { since, until }: { readonly since?: Date | undefined; readonly until?: Date | undefined },
  prefix: string,
) {
  if (since && until && since >= until)
    throw invalidParameter('until', 'That time ends before it begins: give a later until.')
  const { id } = await requireAccount(stores, name)
  const usage = await stores.keys.usage(id, since, until)
  return usage.map((row) => ({ ...row, hint: row.kind === 'website' ? '' : shownKey(row, prefix) }))
}
