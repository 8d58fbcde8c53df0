import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { isLine } from '../../lib/text.js'
import { AppError, invalidParameter, noActiveSubscription } from '../errors.js'
import type { Account, ApiKeyKind } from './account.js'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_LENGTH = 32 // 32 base62 characters are 190 bits
const CHECKSUM_LENGTH = 6

const SHAPE = new RegExp(`^[A-Za-z0-9-]+_[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`)

/** `<prefix>_` + 32 random base62 characters + the CRC-32 of all before it in base62, the format GitHub described in 2021. */
export function newApiKey(prefix: string): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomInt(62)]).join('')
  const body = `${prefix}_${random}`
  return body + checksum(body)
}

/** What operators' keys begin with, before the underscore: an interface that takes none refuses them unread. */
export const operatorKeyPrefix = (prefix: string) => `${prefix}-operator`

/** Of a key as it is shown: what it begins and ends with. */
export const shownKey = ({ kind, hint }: { readonly kind: string; readonly hint: string }, prefix: string) =>
  `${kind === 'operator' ? operatorKeyPrefix(prefix) : prefix}_…${hint}`

/** Whether a key could be one of ours, told from the text alone: a typo or a fake is refused without a look-up. */
export function isWellFormedApiKey(key: string, prefix: string): boolean {
  if (!key.startsWith(`${prefix}_`) || !SHAPE.test(key)) return false
  return checksum(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH)
}

/** All that is stored of a key. A fast hash is right: 190 random bits cannot be guessed. */
export function hashApiKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}

/** The last characters, kept for display. */
export const apiKeyHint = (key: string): string => key.slice(-4)

function checksum(text: string): string {
  let sum = crc32(text)
  let digits = ''
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    digits = ALPHABET[sum % 62] + digits
    sum = Math.floor(sum / 62)
  }
  return digits
}

/** How many keys for the Personal Access API a signed-in person may have. */
export const MAX_KEYS = 10
export const KEY_NAME_LENGTH = 60

/** What a key may do; null: no limit. */
export interface KeyLimits {
  /** From then on it is refused like a revoked one. */
  readonly expiresAt: Date | null
  /** Credits in one calendar month, in UTC, less those given back. Not for developer keys, which are metered. */
  readonly monthlyLimit: number | null
  /** IDs of model versions. */
  readonly models: readonly number[] | null
}

/** A key that works. Personal keys are their owner's to make; developer keys, an operator's: their owner sees and revokes them. */
export interface OwnKey extends KeyLimits {
  readonly id: string
  readonly kind: Exclude<ApiKeyKind, 'website' | 'operator'>
  readonly name: string
  readonly hint: string
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
  /** Credits of the last 30 days, without those given back. */
  readonly spent: number
  /** Of the calendar month, in UTC, which `monthlyLimit` limits. */
  readonly spentThisMonth: number
}

interface NewKey extends Pick<OwnKey, 'name' | 'hint'>, KeyLimits {
  readonly hash: Buffer
}

/** The account's own keys that work; another account's, the website's own and operator keys are never found. */
export interface OwnKeyStore {
  /** Newest first, developer keys last. */
  list(accountId: string): Promise<OwnKey[]>
  /** Counts and asks for the subscription in the same act; `limit` is exact, however many ask at once. */
  create(accountId: string, key: NewKey, limit: number): Promise<'created' | 'too_many' | 'no_subscription'>
  /** Personal keys only; false if there is no such key. */
  change(accountId: string, id: string, change: Partial<KeyLimits & Pick<OwnKey, 'name'>>): Promise<boolean>
  /** Every replica refuses it from the next request on. False if there is no such key; a repeat changes nothing. */
  revoke(accountId: string, id: string): Promise<boolean>
}

/** Resolves to the key, which is stored nowhere. @throws invalid_request, subscription_required */
export async function createOwnKey(
  store: OwnKeyStore,
  account: Account,
  { name, ...limits }: KeyLimits & Pick<OwnKey, 'name'>,
  prefix: string,
): Promise<string> {
  const key = newApiKey(prefix)
  const stored = { name: requireKeyName(name), ...requireLimits(limits), hash: hashApiKey(key), hint: apiKeyHint(key) }
  const outcome = await store.create(account.id, stored, MAX_KEYS)
  if (outcome === 'created') return key
  if (outcome === 'no_subscription') throw noActiveSubscription(account.subscription)
  throw new AppError('invalid_request', `You have ${MAX_KEYS} keys, the most there may be: revoke one first.`)
}

/** @throws invalid_request; not_found, alike for another account's key and for one that does not exist */
export async function renameOwnKey(store: OwnKeyStore, account: Account, id: string, name: string): Promise<void> {
  const valid = requireKeyName(name)
  if (!ID.test(id) || !(await store.change(account.id, id, { name: valid }))) throw keyNotFound()
}

/** @throws invalid_request; not_found, as renameOwnKey */
export async function limitOwnKey(store: OwnKeyStore, account: Account, id: string, limits: KeyLimits): Promise<void> {
  const valid = requireLimits(limits)
  if (!ID.test(id) || !(await store.change(account.id, id, valid))) throw keyNotFound()
}

/** @throws not_found */
export async function revokeOwnKey(store: OwnKeyStore, account: Account, id: string): Promise<void> {
  if (!ID.test(id) || !(await store.revoke(account.id, id))) throw keyNotFound()
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
export const keyNotFound = () => new AppError('not_found', 'You have no such key: it may be revoked. Reload the page.')

/** @throws invalid_request */
export function requireLimits(limits: KeyLimits): KeyLimits {
  const { expiresAt, monthlyLimit } = limits
  if (expiresAt && !(expiresAt.getTime() > Date.now()))
    throw invalidParameter('until', 'The end of a key must be a later date, like 2027-01-31; leave it empty for none.')
  if (monthlyLimit !== null && !(Number.isSafeInteger(monthlyLimit) && monthlyLimit >= 1))
    throw invalidParameter(
      'monthly_limit',
      'The credits a month must be a whole number from 1; leave it empty for no limit.',
    )
  return limits
}

/** @returns it without the spaces around it. @throws invalid_request */
export function requireKeyName(text: string): string {
  const name = text.trim()
  if (isLine(name, KEY_NAME_LENGTH)) return name
  throw invalidParameter('name', `Give the key a name of 1 to ${KEY_NAME_LENGTH} characters, on one line.`)
}
