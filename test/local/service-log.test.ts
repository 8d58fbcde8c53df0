import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openServiceLog } from '../../src/local/service-process.js'
import { until } from '../support/until.js'

let parent: string
let logs: string
let log: string

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'easel-logs-'))
  logs = join(parent, 'logs')
  await mkdir(logs, { mode: 0o700 })
  log = join(logs, 'worker.log')
})
afterEach(() => rm(parent, { recursive: true }))

const openLog = () => openServiceLog(logs, 'worker', () => undefined)

describe('the log of a service', () => {
  it('keeps what was there before', async () => {
    await writeFile(log, 'before\n')
    const { write } = await openLog()
    write('after')
    await until(async () => (await readFile(log, 'utf8')) === 'before\nafter\n', 'the line')
  })

  it('shows its warnings and errors on the terminal, and nothing less', async () => {
    const shown: string[] = []
    const { write } = await openServiceLog(logs, 'worker', (line) => shown.push(line))
    for (const [level, msg] of [
      [30, 'an info'],
      [40, 'a warning'],
      [50, 'an error'],
    ])
      write(JSON.stringify({ level, msg }))
    write(JSON.stringify({ level: 40, msg: 'a failure', err: { message: 'as \x1b[2Jthe\u202e server\nsays it' } }))
    expect(shown).toEqual([
      'worker: a warning',
      'worker: an error',
      'worker: a failure (as \\u001b[2Jthe\\u202e server)',
    ])
  })

  it('is not written through a symbolic link', async () => {
    const victim = join(parent, 'victim')
    await writeFile(victim, 'untouched')
    await symlink(victim, log)
    await expect(openLog()).rejects.toThrow(`${log} can't be written (ELOOP): delete it and start again.`)
    expect(await readFile(victim, 'utf8')).toBe('untouched')
  })

  it('is not written to a pipe that nobody reads', async () => {
    execFileSync('mkfifo', [log])
    await expect(openLog()).rejects.toThrow(`${log} can't be written (ENXIO): delete it and start again.`)
  })

  it('is not written to a directory that other users may write to', async () => {
    await chmod(logs, 0o777)
    await expect(openLog()).rejects.toThrow(`Other users may write to ${logs}`)
  })
})
