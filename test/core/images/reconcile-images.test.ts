import { expect, it, vi } from 'vitest'
import { newSlug } from '../../../src/core/generations/generation.js'
import { FileUnreadable } from '../../../src/core/images/read-each.js'
import { reconcileImages } from '../../../src/core/images/reconcile-images.js'

const pages = async function* <T>(...items: T[]) {
  yield items
}

it('an image that cannot be looked at or changed is named, and keeps no other from being reconciled', async () => {
  const [bad, removed, gone, unknown] = [newSlug(), newSlug(), newSlug(), newSlug()]
  const refuse = async (slug: string) => {
    if (slug === bad) throw new FileUnreadable('not this one', 'EIO')
  }
  const taken = vi.fn(refuse)
  const images = [bad, removed, gone].map((slug) => ({ slug, removed: slug !== gone, isPrivate: false }))
  const remove = vi.fn(refuse)
  const onFault = vi.fn()
  const found = await reconcileImages(
    {
      inventory: {
        pages: () => pages(...images),
        unknownAmong: async (slugs) => [...slugs],
        takeDownAgain: taken,
        moveAgain: async () => undefined,
      },
      removals: { remove: async () => undefined },
      store: {
        remove,
        publicFiles: { all: () => pages(bad, removed, unknown) },
        privateFiles: { all: () => pages<string>() },
        exists: async () => false,
        changedAt: async () => new Date(0),
      },
    },
    { reason: 'a test' },
    onFault,
  )
  expect(found).toMatchObject({
    failed: { count: 1, examples: [bad] },
    stillThere: { count: 1, examples: [removed] },
    fileGone: { count: 1, examples: [gone] },
    unknown: { count: 1, examples: [unknown] },
  })
  expect(remove.mock.calls.map(([slug]) => slug)).toEqual([removed, unknown])
  expect(onFault.mock.calls).toEqual([[bad, expect.objectContaining({ message: 'not this one' })]])
})
