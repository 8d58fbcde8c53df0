/** Which optional parts of a put and of a look-up a store supports, and how that is found out. */
import { randomBytes } from 'node:crypto'
import type { PutObjectCommandInput } from '@aws-sdk/client-s3'
import { sha256Of } from './any-image-store.js'
import { ANYTHING, type FoundObject, type ObjectFacts } from './objects.js'
import { BucketFailure } from './s3-failure.js'

export interface StoredObject extends FoundObject {
  readonly changedAt: Date
}

/** How an object is put: what a store may refuse of it is optional. */
export interface PutFeatures {
  readonly checksum: boolean
  /** Which puts name what they may replace; `new`: only those that may replace nothing. */
  readonly conditional: 'all' | 'new' | 'none'
}

export const ALL_FEATURES: PutFeatures = { checksum: true, conditional: 'all' }
/** The least loss first. */
const FALLBACKS: readonly PutFeatures[] = [
  { checksum: false, conditional: 'all' },
  { checksum: true, conditional: 'none' },
  { checksum: false, conditional: 'none' },
]

/** How an object is looked at, the best first. */
export const LOOKUPS = [
  { by: 'HEAD', checksum: true },
  { by: 'HEAD', checksum: false },
  { by: 'GET', checksum: true },
  { by: 'GET', checksum: false },
] as const
export type Lookup = (typeof LOOKUPS)[number]

type Condition = Pick<PutObjectCommandInput, 'IfMatch' | 'IfNoneMatch'>

export function conditionOf({ replaces }: ObjectFacts, { conditional }: PutFeatures): Condition {
  if (conditional === 'none' || replaces === ANYTHING) return {}
  if (replaces === undefined) return { IfNoneMatch: '*' }
  return conditional === 'all' ? { IfMatch: replaces } : {}
}

interface Bucket {
  /** Resolves to false if another object is there than the one that it replaces. */
  put(features: PutFeatures, content: Buffer, facts: ObjectFacts): Promise<boolean>
  lookUp(lookup: Lookup): Promise<StoredObject | undefined>
  /** Looks at what is not there. */
  lookForNone(lookup: Lookup): Promise<unknown>
}

interface Capabilities {
  readonly features: PutFeatures
  /** Undefined: nobody may look. */
  readonly lookup: Lookup | undefined
  readonly hidesMissing: boolean
  /** In words, what the store does not take, and what it answered. */
  readonly lacks: readonly string[]
}

/**
 * Finds out what the store supports by putting a small object, looking at it and replacing it. The object of an earlier
 * probe may still be there.
 * @throws BucketFailure if an object can be put in no way
 */
export async function probeCapabilities({ put: putIn, lookUp, lookForNone }: Bucket): Promise<Capabilities> {
  const content = randomBytes(1024)
  const facts = { bytes: content.length, sha256: sha256Of(content).digest('base64'), replaces: undefined }
  const put = (features: PutFeatures, replaces?: string) => putIn(features, content, { ...facts, replaces })
  const lacks: string[] = []

  const refusal = await storeRefusal(put(ALL_FEATURES))
  let features = ALL_FEATURES
  if (refusal) {
    const taken = await firstOf(FALLBACKS, async (lesser) => !(await storeRefusal(put(lesser))))
    if (!taken) throw refusal
    // Once more: it may have been refused by chance.
    if (await storeRefusal(put(ALL_FEATURES))) features = taken
  }
  if (!features.checksum) lacks.push(`checksums (${refusal?.refusal})`)
  if (features.conditional === 'none') lacks.push(`conditional puts (${refusal?.refusal})`)
  else if (await put(features)) lacks.push('conditional puts (it ignores them)')

  let found: StoredObject | undefined
  let blind: BucketFailure | undefined
  const lookup = await firstOf(LOOKUPS, async (it) => {
    const looking = lookUp(it)
    blind = (await storeRefusal(looking)) ?? blind
    found = await looking.catch(() => undefined)
    // Some proxies answer a HEAD without its length.
    return (found?.bytes ?? 0) > 0
  })
  if (!lookup && !blind) throw new BucketFailure('The bucket does not show what it has just stored.')
  if (lookup?.by !== 'HEAD')
    lacks.push(`${lookup ? 'HEAD' : 'HEAD and GET'} (${blind?.refusal ?? 'it does not show what it has stored'})`)

  if (lookup && features.conditional === 'all') {
    const replacing = put(features, found?.etag)
    const refused = await storeRefusal(replacing)
    // A proxy may change ETags, or leave them out.
    if (refused || !(await replacing)) {
      features = { ...features, conditional: 'new' }
      lacks.push(`If-Match (${refused?.refusal ?? 'it does not know its own ETag'})`)
    }
  }
  const hidden = lookup && (await storeRefusal(lookForNone(lookup)))
  if (hidden) lacks.push(`the right to list (${hidden.refusal} for what is not there)`)
  return { features, lookup, hidesMissing: hidden !== undefined, lacks }
}

/** Undefined: it was done, or failed in another way than by a refusal, which rejects. */
const storeRefusal = (work: Promise<unknown>): Promise<BucketFailure | undefined> =>
  work.then(
    () => undefined,
    (error) => {
      if (error instanceof BucketFailure && error.refusal) return error
      throw error
    },
  )

async function firstOf<T>(all: readonly T[], fits: (it: T) => Promise<boolean>): Promise<T | undefined> {
  for (const it of all) if (await fits(it)) return it
  return undefined
}
