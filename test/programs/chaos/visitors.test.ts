import { expect, it } from 'vitest'
import { upNextStore } from '../../../src/db/up-next/up-next.js'
import { useDatabase } from '../../support/database.js'
import { givenUser } from '../../support/givens.js'
import type { FinalGeneration } from './history.js'
import { upNextViolations } from './visitors.js'

const context = useDatabase()

it('an idea of Up next that is lost, drawn twice, or drawn and still waiting is a violation', async () => {
  const { db } = context
  const { id } = await givenUser(db)
  for (const tag of ['waits', 'both']) await upNextStore(db).add(id, { prompt: `canary plain ${tag} a lighthouse` })
  const drawn = ['drawn', 'twice', 'twice', 'both'].map((tag) => ({ tag }) as FinalGeneration & { tag: string })
  const postgres = await db.pool.connect()
  try {
    const linedUp = ['waits', 'drawn', 'twice', 'both', 'lost'].map((tag) => ({ tag, isKnown: true }))
    const unknown = ['twice', 'lost'].map((tag) => ({ tag, isKnown: false }))
    const found = await upNextViolations(postgres, [...linedUp, ...unknown], drawn)
    expect(found.map(({ what }) => what)).toEqual([
      'the idea twice is there 2 times',
      'the idea both is there 2 times',
      'the idea lost is there 0 times',
      'the idea twice is there 2 times',
    ])
  } finally {
    postgres.release()
  }
})
