import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished } from 'vitest'
import { createBackend } from '../../src/inference/create-backend.js'
import { aRequest, failureOf, PONY } from '../inference/given.js'
import { compiled } from '../support/services.js'

it.each([
  ['a1111', ['--dialect', 'sdnext'], PONY, { fault: 'out_of_memory' }, 'oom'],
  ['comfyui', ['--version', 'new'], PONY, { run: 'out_of_memory' }, 'oom'],
  ['openai', ['--dialect', 'localai'], 'ponyDiffusionV6XL', { fault: 'no_image' }, 'bad_output'],
  ['sdcpp', ['--latency-ms', '1'], PONY, { fault: 'fails' }, 'backend_fault'],
])(
  'the stand-in %s runs as a program, is set over HTTP, and ends on SIGTERM',
  async (kind, as, model, fault, failed) => {
    const script = await compiled(`test/stand-ins/${kind}/${kind}-stand-in.ts`)
    const args = [script, '--port', '0', '--model', model, '--auth', 'u:p', ...as]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [url] = (await once(createInterface(child.stdout), 'line')) as [string]
    const query = kind === 'openai' ? '?sampler=euler_a' : ''
    const backend = createBackend(`${kind}+${url.replace('://', '://u:p@')}${query}`, { timeoutMs: 60_000 })
    onTestFinished(() => backend.close())
    const { signal } = new AbortController()
    expect((await backend.capabilities(signal)).models).toContain(PONY)
    expect(await backend.generate(aRequest(), { signal })).toHaveLength(1)
    await fetch(`${url}/stand-in/set`, { method: 'POST', body: JSON.stringify(fault) })
    expect((await failureOf(backend.generate(aRequest({ seeds: [7] }), { signal }))).kind).toBe(failed)
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  },
)
