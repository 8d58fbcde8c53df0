import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { Supervised } from './supervised.js'
import { windows } from './windows.js'

it('a restart is over when another process is up', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'easel-supervised-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const script = join(directory, 'up.mjs')
  writeFileSync(script, "process.send('up'); setInterval(() => undefined, 60_000)")
  const killed: number[] = []
  const process = new Supervised({
    ...{ name: 'one', command: [script], env: () => ({}), logFile: join(directory, 'log') },
    ...{ windows: windows(), watchdog: { note: () => undefined, forget: () => undefined, dismiss: () => undefined } },
    onKilled: () => killed.push(1),
    onUnexpectedEnd: () => undefined,
  })
  onTestFinished(() => process.close())
  await process.start()
  const first = process.pid
  await process.restart()
  expect([killed.length, process.ready, process.pid !== undefined && process.pid !== first]).toEqual([1, true, true])
})
