/** Accounts with images, for the tests of the gallery. */
import type { Database } from '../../../src/db/client.js'
import { type GivenImage, givenImages } from '../../support/given-images.js'
import { givenSession } from '../../support/given-sign-in.js'
import { type GivenUser, givenUser } from '../../support/givens.js'

export const HOSTILE = [
  `</span><script>alert(1)</script>"onload='x' & <b>`,
  'two\nlines, and\u202Etext that runs backwards',
  `100% of "quotes" _ and \\ 'all'`,
  '😀'.repeat(1000),
  '"'.repeat(2000),
]

const SIZES = [
  [832, 1216],
  [1216, 832],
  [1024, 1024],
  [2048, 512],
] as const

/** The size of the n-th image: one shape after the other. */
export const sizeOf = (n: number) => SIZES[n % SIZES.length] as (typeof SIZES)[number]

export interface Account {
  readonly user: GivenUser
  readonly cookie: string
  /** Of its images, the newest first. */
  readonly slugs: string[]
}

export async function givenAccount(db: Database, images: readonly GivenImage[] = []): Promise<Account> {
  const user = await givenUser(db)
  const cookie = await givenSession(db, user)
  return { user, cookie, slugs: await givenImages(db, user, images) }
}
