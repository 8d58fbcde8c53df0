import { expect, it } from 'vitest'
import { failureOf } from '../given.js'
import { givenBackend } from './given.js'

it('does not attach a server that makes no images', async () => {
  const { standIn, capabilities } = await givenBackend()
  standIn.set({ mode: 'vid_gen' })
  const error = await failureOf(capabilities())
  expect(error.kind).toBe('unusable')
  expect(error.message).toContain('"vid_gen"')
})
