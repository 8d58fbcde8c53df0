import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { expect, it } from 'vitest'
import { createA1111Backend } from '../../../src/inference/a1111/a1111-backend.js'
import { aRequest, givenBackend, PONY, SDXL } from '../../inference/a1111/given.js'

it('draws the same image for the same request, and another for another seed, prompt, size or model', async () => {
  const { generate } = await givenBackend()
  const draw = async (asked = {}) => (await generate(asked))[0]?.bytes.toString('base64')
  const first = await draw()
  expect(await draw()).toBe(first)
  const others = [
    await draw({ seeds: [43] }),
    await draw({ prompt: 'a cat' }),
    await draw({ width: 128 }),
    await draw({ model: SDXL }),
  ]
  expect(new Set([first, ...others]).size).toBe(5)
})

it('draws PNGs that are not of one colour, and black ones on request, with its parameters in a text chunk', async () => {
  const { standIn, generate } = await givenBackend()
  const [image] = await generate({ prompt: 'été' })
  const { format, width, height } = await sharp(image?.bytes).metadata()
  expect({ format, width, height }).toEqual({ format: 'png', width: 64, height: 128 })
  expect(image?.bytes.toString('latin1')).toContain(
    'tEXtparameters\0été\nNegative prompt: blurry\nSteps: 20, Sampler: Euler a',
  )
  expect((await sharp(image?.bytes).stats()).channels[0]?.stdev).toBeGreaterThan(20)
  standIn.set({ fault: 'black' })
  const [black] = await generate()
  expect((await sharp(black?.bytes).stats()).channels.map(({ max }) => max)).toEqual([0, 0, 0])
})

it('hits only as many requests with a fault as it is told', async () => {
  const { standIn, generate } = await givenBackend()
  standIn.set({ fault: 'drop', times: 2 })
  const outcomes = await Promise.allSettled([generate(), generate()])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await generate()).toHaveLength(1)
})

it('runs as a process of its own, is set over HTTP, and ends on SIGTERM', async () => {
  const script = fileURLToPath(new URL('./a1111-stand-in.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', script, '--port', '0', '--model', PONY, '--auth', 'u:p'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string]
  const backend = createA1111Backend(`a1111+${url.replace('://', '://u:p@')}`, { timeoutMs: 2_000 })
  const signal = new AbortController().signal
  expect((await backend.capabilities(signal)).models).toEqual([PONY])
  expect(await backend.generate(aRequest(), { signal })).toHaveLength(1)
  await fetch(`${url}/stand-in/set`, { method: 'POST', body: JSON.stringify({ fault: 'out_of_memory' }) })
  await expect(backend.generate(aRequest(), { signal })).rejects.toMatchObject({ kind: 'oom' })
  await backend.close()
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
})
