import { expect, it } from 'vitest'
import { upNextStore } from '../../../src/db/up-next/up-next.js'
import { useAudited } from './audited.js'

const audited = useAudited()
const { breaking, violated } = audited

it('an audit finds ideas that nobody looks at any more, unless they are paused or their account was deleted', async () => {
  const { easel, user } = audited
  const between = async (afterMs: number) => expect(afterMs).toBe(4000)
  const set = (what: string) => breaking(`UPDATE up_next SET ${what}`)
  await upNextStore(easel.db).add(user.id, { prompt: 'one' })
  expect(await violated()).toEqual({})
  for (const forgotten of ['due_at = NULL', `due_at = now() - interval '6 minutes'`]) {
    await set(forgotten)
    expect(await violated({}, { between })).toEqual({ 'ideas-are-submitted-in-time': 1 })
  }
  await set(`paused = 'by_person'`)
  expect(await violated()).toEqual({})
  await set('paused = NULL')
  await breaking('UPDATE users SET deleted_at = now() WHERE id = $1', [user.id])
  expect(Object.keys(await violated({}, { between }))).not.toContain('ideas-are-submitted-in-time')
})
