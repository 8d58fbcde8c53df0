import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { findPrograms } from './cluster.js'

function whyNot(): string | undefined {
  try {
    findPrograms()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

const missing = whyNot()
if (missing) console.log(`${missing} Without them the failover under Patroni is skipped.`)

it.skipIf(missing)(
  'nothing that was answered is missing after Patroni has replaced a Postgres that died',
  async () => {
    const script = ['--import', 'tsx', 'test/programs/failover/run.ts', '--faults', 'crash']
    const child = spawn(process.execPath, script, { stdio: ['ignore', 'pipe', 'pipe'] })
    onTestFinished(() => void child.kill()) // one that hangs stops what it has started
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text) => {
        said += text
      })
    const [code] = await once(child, 'exit')
    expect({ code, said }).toEqual({
      code: 0,
      said: expect.stringMatching(/generations lost: 0\n.*\n *grants lost: 0\n/),
    })
  },
  400_000,
)
