/** What stores refuse of a put, or of a look at what they have, that can be done without; and how it is found out. */
import { randomBytes } from 'node:crypto'
import type { PutObjectCommandInput } from '@aws-sdk/client-s3'
import { sha256Of } from './any-image-store.js'
import { ANYTHING, type FoundObject, type ObjectFacts } from './objects.js'
import { BucketFailure } from './s3-failure.js'

export interface StoredObject extends FoundObject {
  readonly changedAt: Date
}

/** How an object is put: what a store may refuse of it is optional. */
export interface Way {
  readonly checksum: boolean
  /** Which puts name what they may replace; `new`: only those that may replace nothing. */
  readonly conditional: 'all' | 'new' | 'none'
}

export const FULL: Way = { checksum: true, conditional: 'all' }
/** The least loss first. */
const LESSER: readonly Way[] = [
  { checksum: false, conditional: 'all' },
  { checksum: true, conditional: 'none' },
  { checksum: false, conditional: 'none' },
]

/** How an object is looked at, the best first. */
export const LOOKS = [
  { by: 'HEAD', checksum: true },
  { by: 'HEAD', checksum: false },
  { by: 'GET', checksum: true },
  { by: 'GET', checksum: false },
] as const
export type Look = (typeof LOOKS)[number]

type Condition = Pick<PutObjectCommandInput, 'IfMatch' | 'IfNoneMatch'>

export function conditionOf({ replaces }: ObjectFacts, { conditional }: Way): Condition {
  if (conditional === 'none' || replaces === ANYTHING) return {}
  if (replaces === undefined) return { IfNoneMatch: '*' }
  return conditional === 'all' ? { IfMatch: replaces } : {}
}

interface Tried {
  /** Resolves to false if another object is there than the one that it replaces. */
  put(way: Way, content: Buffer, facts: ObjectFacts): Promise<boolean>
  lookBy(look: Look): Promise<StoredObject | undefined>
}

interface Learned {
  readonly way: Way
  /** Undefined: nobody may look. */
  readonly look: Look | undefined
  /** In words, what the store does not take, and what it answered. */
  readonly lacks: readonly string[]
}

/** Tries how a store takes an object, of which some may be left from before. @throws BucketFailure if in no way */
export async function learnWays({ put: putIn, lookBy }: Tried): Promise<Learned> {
  const content = randomBytes(1024)
  const facts = { bytes: content.length, sha256: sha256Of(content).digest('base64'), replaces: undefined }
  const put = (way: Way, replaces?: string) => putIn(way, content, { ...facts, replaces })
  const lacks: string[] = []

  const refusal = await refusalOf(put(FULL))
  let way = FULL
  if (refusal) {
    const taken = await firstOf(LESSER, async (lesser) => !(await refusalOf(put(lesser))))
    if (!taken) throw refusal
    // Once more: it may have been refused by chance.
    if (await refusalOf(put(FULL))) way = taken
  }
  if (!way.checksum) lacks.push(`checksums (${refusal?.refusal})`)
  if (way.conditional === 'none') lacks.push(`conditional puts (${refusal?.refusal})`)
  else if (await put(way)) lacks.push('conditional puts (it ignores them)')

  let found: StoredObject | undefined
  let blind: BucketFailure | undefined
  const look = await firstOf(LOOKS, async (it) => {
    const looking = lookBy(it)
    blind = (await refusalOf(looking)) ?? blind
    found = await looking.catch(() => undefined)
    // Some proxies answer a HEAD without its length.
    return (found?.bytes ?? 0) > 0
  })
  if (!look && !blind) throw new BucketFailure('The bucket does not show what it has just stored.')
  if (look?.by !== 'HEAD')
    lacks.push(`${look ? 'HEAD' : 'HEAD and GET'} (${blind?.refusal ?? 'it does not show what it has stored'})`)

  const replacing = look && way.conditional === 'all' ? await refusalOf(put(way, found?.etag)) : undefined
  if (replacing) {
    way = { ...way, conditional: 'new' }
    lacks.push(`If-Match (${replacing.refusal})`)
  }
  return { way, look, lacks }
}

/** Undefined: it was done, or failed in another way than by a refusal, which rejects. */
const refusalOf = (work: Promise<unknown>): Promise<BucketFailure | undefined> =>
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
