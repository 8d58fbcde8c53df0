import { expect, it } from 'vitest'
import type { Account } from '../../../src/core/accounts/account.js'
import { pollGeneration, withProgress } from '../../../src/core/generations/follow/poll.js'
import { queuePositions } from '../../../src/db/generations/estimates.js'
import { postgresProgressBoard } from '../../../src/db/generations/live-boards.js'
import { pollStore } from '../../../src/db/generations/poll.js'
import { useDatabase } from '../../support/database.js'
import { givenGeneration, givenUser } from '../../support/givens.js'
import { standInWorker } from '../../support/stand-in-worker.js'

const context = useDatabase()

async function givenProcessing() {
  const { db } = context
  const user = await givenUser(db)
  const { id } = await givenGeneration(db, user)
  await standInWorker(db).claim()
  const ports = { polls: pollStore(db), positions: queuePositions(db), progress: postgresProgressBoard(db) }
  await ports.progress.set(id, 1, 0.5)
  const poll = (of: string) => pollGeneration(ports, { id: user.id } as Account, of)
  return { id, ports, poll }
}

it('a poll for an impossible id is answered not_found, and the polls read in one statement with it are answered', async () => {
  const { id, poll } = await givenProcessing()
  const [misspelt, own] = await Promise.allSettled([poll('gen_\0'), poll(id)])
  expect(misspelt).toMatchObject({ status: 'rejected', reason: { code: 'not_found' } })
  expect(own).toMatchObject({ status: 'fulfilled', value: { status: 'processing', progress: 0.5 } })
})

it('a poll shows the progress that is already known if the board cannot be read', async () => {
  const { id, ports, poll } = await givenProcessing()
  const known = await poll(id)
  const away = { set: ports.progress.set, get: () => Promise.reject(new Error('away')) }
  expect(await withProgress({ progress: away }, known)).toEqual(known)
})
