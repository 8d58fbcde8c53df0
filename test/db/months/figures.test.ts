import { expect, it } from 'vitest'
import { operatorFigures } from '../../../src/db/operator/figures.js'
import { useEasel } from '../../cli/easel.js'
import { givenSucceeded } from '../../cli/given-images.js'
import { givenUser } from '../../support/givens.js'
import { move } from '../../support/moved-to-months.js'
import { unguarded } from '../../support/unguarded.js'

const easel = useEasel()

it('counts an attempt that was put back days after its submit, in the next month', async () => {
  const { id } = await givenSucceeded(easel, await givenUser(easel.db), { width: 8, height: 8 })
  await unguarded(easel.db, `UPDATE generations SET created_at = '2025-03-31T12:00Z' WHERE id = $1`, [id])
  await unguarded(
    easel.db,
    `INSERT INTO put_back_attempts (generation_id, attempt, backend, put_back_at, reason, counted)
     VALUES ($1, 1, 'slow', '2025-04-05T12:00Z', 'worker_lost', false)`,
    [id],
  )
  await move(easel.db)
  const { backends } = await operatorFigures(easel.db).of({ from: '2025-04-05', to: '2025-04-05' })
  expect(backends).toMatchObject([{ backend: 'slow', putBack: 1 }])
})
