import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { confirmer } from '../../src/cli/terminal-input.js'

const answerTo = (typed: string, isTTY: boolean) => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  input.end(typed)
  return confirmer(Object.assign(input, { isTTY }), output)('Give 5 credits?')
}

it.each([
  ['y\n', true],
  ['YES\n', true],
  ['n\n', false],
  ['\n', false],
  ['', false],
])('takes what a person types for an answer: %j', async (typed, answer) => {
  expect(await answerTo(typed, true)).toBe(answer)
})

it('takes nothing that is piped in for an answer', async () => {
  expect(await answerTo('y\n', false)).toBe(false)
})
