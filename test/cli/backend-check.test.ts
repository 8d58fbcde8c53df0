import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { runCli } from '../../src/cli/run-cli.js'
import { type StandInOptions, startA1111StandIn } from '../support/a1111-stand-in.js'

const directory = await mkdtemp(join(tmpdir(), 'easel-check-'))
const output = join(directory, 'picture.png')
afterAll(() => rm(directory, { recursive: true, force: true }))
const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function givenServer(options: StandInOptions = {}) {
  const server = await startA1111StandIn(options)
  closers.push(() => server.close())
  return server
}

/** On a machine that knows no database. */
const check = (...args: readonly string[]) => checkInto(output, ...args)

async function checkInto(path: string, ...args: readonly string[]) {
  const said = { stdout: '', stderr: '' }
  const collect = (stream: 'stdout' | 'stderr') => ({ write: (text: string) => (said[stream] += text) })
  const code = await runCli(
    ['backend', 'check', ...args, '--output', path],
    {},
    {
      stdout: collect('stdout'),
      stderr: collect('stderr'),
      localDirectory: directory,
    },
  )
  return { code, ...said }
}

describe('backend check', () => {
  it('has a server draw one picture and says where it is and how long it took', async () => {
    const server = await givenServer({ dialect: 'forge', models: ['mine.safetensors'] })
    const { code, stdout, stderr } = await check(server.inferenceUrl, '--model', 'mine.safetensors')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      /models: 1 of 1\nsamplers: 18 of 18\n.*512×512, mine\.safetensors, euler_a, 8 steps, in \d+\.\d s/,
    )
    expect(stdout).toContain(output)
    expect(await sharp(output).metadata()).toMatchObject({ format: 'png', width: 512, height: 512 })
  })

  it('exits 1 with a sentence that names the models and samplers a server lacks', async () => {
    const server = await givenServer({ dialect: 'sdcpp', models: ['mine.safetensors'] })
    const { code, stdout, stderr } = await check(
      server.inferenceUrl,
      '--model',
      'mine.safetensors',
      'other.safetensors',
    )
    expect(code).toBe(1)
    expect(stdout).toMatch(/missing: other\.safetensors\n.*missing: .*unipc/)
    expect(stderr).toMatch(/^error: .* lacks the models other\.safetensors and the samplers .*unipc.*\.\n$/)
    expect(await sharp(output).metadata()).toMatchObject({ width: 512 })
  })

  it('exits 1 where a server has none of the models', async () => {
    const server = await givenServer({ models: ['mine.safetensors'] })
    const { code, stderr } = await check(server.inferenceUrl, '--model', 'other.safetensors')
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^error: .* has none of the models: .*\n$/),
    })
  })

  it('tells everything as one JSON value', async () => {
    const server = await givenServer({ models: ['mine.safetensors'] })
    const { stdout } = await check(server.inferenceUrl, '--model', 'mine.safetensors', '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ models: ['mine.safetensors'], missing_models: [], max_seed: 4294967295, size_multiple: 8 },
      picture: { path: output, model: 'mine.safetensors', sampler: 'euler_a', took_ms: expect.any(Number) },
    })
  })

  it.each([
    ['wrong password', /401.*put the right user:password@ into the URL\.$/],
    ['nobody listens', /cannot be reached: ECONNREFUSED; check the address/],
    ['a picture of another size', /drew .* instead of 512x512; look at its log/],
    ['no answer', /did not say within 4 s what it has; check the address, and that it runs with its API on\.$/],
    ['another kind of server', /answered 404.*another kind of server, or its API is off/],
  ])('exits 1 with a sentence: %s', async (what, sentence) => {
    const server = await givenServer({
      models: ['mine.safetensors'],
      ...(what === 'wrong password' && { auth: 'me:secret' }),
    })
    if (what === 'nobody listens') await server.refuse()
    if (what === 'a picture of another size') server.set({ fault: 'wrong_size' })
    if (what === 'no answer') server.set({ fault: 'hang', scope: 'all' })
    const kind = what === 'another kind of server' ? 'comfyui' : 'a1111'
    const { code, stderr } = await check(server.url.replace('http:', `${kind}+http:`), '--model', 'mine.safetensors')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^error: [^\n]+\n$/)
    expect(stderr.trim()).toMatch(sentence)
    expect(stderr).not.toContain('secret')
  })

  it('asks nothing of a server when the picture could not be written', async () => {
    const server = await givenServer({ models: ['mine.safetensors'] })
    const path = join(directory, 'nowhere', 'picture.png')
    expect(await checkInto(path, server.inferenceUrl, '--model', 'mine.safetensors')).toEqual({
      ...{ code: 1, stdout: '' },
      stderr: `error: The picture can't be written to ${path} (ENOENT); name another file with --output.\n`,
    })
    expect(server.journal).toEqual([])
  })
})
