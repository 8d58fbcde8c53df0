import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { expect, it } from 'vitest'
import { compiled } from '../support/services.js'
import { within } from '../support/until.js'

const LOGGER = JSON.stringify(await compiled('src/process/logger.ts'))

const program = (then: string) => `
  import { createLogger } from ${LOGGER}
  const log = createLogger('info', 'test')
  process.stdin.once('data', () => { for (let n = 0; n < 500; n++) log.info({ n }, 'a line'); ${then} })
  process.stdout.write('ready')`

const start = (then: string, stderr: 'pipe' | number = 'pipe') =>
  spawn(process.execPath, ['--input-type=module', '--eval', program(then)], {
    stdio: ['pipe', 'pipe', stderr],
  }) as ChildProcessWithoutNullStreams

it('a process can end although nobody reads its log any more', async () => {
  const child = start('process.exit(7)')
  const ended = once(child, 'exit')
  try {
    await once(child.stdout, 'data')
    child.stderr.destroy()
    child.stdin.write('go')
    expect(await within(60_000, ended)).toEqual([7, null])
  } finally {
    child.kill('SIGKILL')
  }
})

it('a process that ends at once writes every line before', async () => {
  const child = start('process.exit(7)')
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    log += text
  })
  await once(child.stdout, 'data')
  child.stdin.write('go')
  await within(60_000, once(child, 'close'))
  expect(
    log
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).n),
  ).toEqual(Array.from({ length: 500 }, (_, n) => n))
})

it.skipIf(!existsSync('/dev/full'))('a process goes on although its log cannot be written', async () => {
  const full = openSync('/dev/full', 'w')
  const child = start('setTimeout(() => process.exit(7), 100)', full)
  closeSync(full)
  await once(child.stdout, 'data')
  child.stdin.write('go')
  expect(await within(60_000, once(child, 'exit'))).toEqual([7, null])
})
