import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { runCli } from '../../src/cli/run-cli.js'
import type { ServerKind } from '../../src/inference/server-kinds.js'
import { type StandInOptions, startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { startComfyuiStandIn } from '../stand-ins/comfyui/comfyui-stand-in.js'
import { startOpenAiStandIn } from '../stand-ins/openai/openai-stand-in.js'
import { startSdCppStandIn } from '../stand-ins/sdcpp/sdcpp-stand-in.js'
import { givenKoboldCpp } from '../support/koboldcpp.js'
import { until } from '../support/until.js'

const directory = await mkdtemp(join(tmpdir(), 'easel-check-'))
const output = join(directory, 'image.png')
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

const checkInto = (path: string, ...args: readonly string[]) => checkSaying({ stdout: '', stderr: '' }, path, ...args)

/** @param said what it has said so far */
async function checkSaying(said: { stdout: string; stderr: string }, path: string, ...args: readonly string[]) {
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
  it('has a server draw one image and says where it is and how long it took', async () => {
    const server = await givenServer({ dialect: 'forge', models: ['mine.safetensors'] })
    const { code, stdout, stderr } = await check(server.inferenceUrl, '--model', 'mine.safetensors')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      /models: 1 of 1\nsamplers: 18 of 18\ndrawing one image…\nimage: 512×512, mine\.safetensors, euler_a, 8 steps, in \d+\.\d s/,
    )
    expect(stdout).toContain(output)
    expect(await sharp(output).metadata()).toMatchObject({ format: 'png', width: 512, height: 512 })
  })

  it('says what it has found before the image is drawn, which may take minutes', async () => {
    const server = await givenServer({ models: ['mine.safetensors'] })
    server.set({ held: true })
    const said = { stdout: '', stderr: '' }
    const checked = checkSaying(said, output, server.inferenceUrl, '--model', 'mine.safetensors', 'other.safetensors')
    await until(() => said.stdout.endsWith('drawing one image…\n'), 'the line before the image')
    expect(said.stdout).toMatch(/ answers\nmodels: 1 of 2; missing: other\.safetensors\nit has: .*\nsamplers: /)
    server.set({ held: false })
    const { stdout } = await checked
    expect(stdout).toMatch(/drawing one image…\nimage: 512×512, [^\n]*\n$/)
  })

  it('lets no name that the server has chosen act on the terminal', async () => {
    const models = ['mine.safetensors', 'red\x1b[31m\x9b2J\u202e.safetensors']
    const { inferenceUrl } = await givenServer({ models })
    const missing = await check(inferenceUrl, '--model', 'other.safetensors')
    const asJson = await check(inferenceUrl, '--json', '--model', 'mine.safetensors')
    for (const { stdout, stderr } of [missing, asJson])
      expect(`${stdout}${stderr}`).not.toMatch(/[^\P{Cc}\n]|[\u202a-\u202e]/u)
    expect(missing.stdout).toContain('it has: mine.safetensors, red\\u001b[31m\\u009b2J\\u202e.safetensors')
    expect(JSON.parse(asJson.stdout).models).toEqual(expect.arrayContaining(models))
  })

  it('says which file names several checkpoints of the server have: nobody could say which one it drew with', async () => {
    const models = ['mine.safetensors', 'one/twin.safetensors', 'other/twin.safetensors']
    const server = await givenServer({ models })
    const wanted = ['--model', 'mine.safetensors', 'twin.safetensors']
    const { code, stdout } = await check(server.inferenceUrl, ...wanted)
    expect(code).toBe(1)
    expect(stdout).toContain('models: 1 of 2; missing: twin.safetensors')
    expect(stdout).toContain('twin.safetensors is the name of several checkpoints there')
  })

  it('exits 1 with a warning that names what is missing where a server works but lacks models or samplers', async () => {
    const server = await givenServer({ models: ['mine.safetensors'] })
    const { code, stdout, stderr } = await check(
      server.inferenceUrl,
      '--model',
      'mine.safetensors',
      'other.safetensors',
    )
    expect(code).toBe(1)
    expect(stdout).toMatch(/missing: other\.safetensors\nit has: mine\.safetensors\n.*missing: .*deis/)
    expect(stderr).toMatch(/^warning: .* lacks the models other\.safetensors and the samplers .*deis.*\.\n$/)
    expect(await sharp(output).metadata()).toMatchObject({ width: 512 })
  })

  it('exits 0 with a warning for a ComfyUI, which never has pndm, and 1 if it must have everything', async () => {
    const server = await startComfyuiStandIn({ models: ['mine.safetensors'] })
    closers.push(() => server.close())
    for (const [args, code] of [[[], 0] as const, [['--strict'], 1] as const]) {
      const ran = await check(server.inferenceUrl, '--model', 'mine.safetensors', ...args)
      const stderr = expect.stringMatching(/^warning: .* works but lacks the samplers pndm: .*\.\n$/)
      expect(ran).toMatchObject({ code, stderr, stdout: expect.stringContaining('samplers: 17 of 18') })
    }
  })

  it('says when a ComfyUI has too many temporary files, and nothing where it does not list them', async () => {
    for (const version of ['new', 'old'] as const) {
      const server = await startComfyuiStandIn({ version, models: ['mine.safetensors'] })
      closers.push(() => server.close())
      const told = async () => (await check(server.inferenceUrl, '--model', 'mine.safetensors')).stdout
      server.files.set('output/mine.png', Buffer.alloc(0))
      expect(await told()).not.toContain('temp/')
      for (let n = 0; n < 5000; n++) server.files.set(`temp/ComfyUI_temp_${n}_.png`, Buffer.alloc(0))
      const line = 'temp/ of ComfyUI holds 5001 files, which slow down each image: let a timer remove the empty ones'
      if (version === 'new') expect(await told()).toContain(line)
      else expect(await told()).not.toContain('temp/')
    }
  })

  it('says when the events of a ComfyUI do not come through', async () => {
    const server = await startComfyuiStandIn({ models: ['mine.safetensors'] })
    closers.push(() => server.close())
    const told = async () => (await check(server.inferenceUrl, '--model', 'mine.safetensors')).stdout
    expect(await told()).not.toContain('events')
    server.set({ socket: 'refused' })
    expect(await told()).toContain(
      'its events do not come through, so that there is no progress and no preview: let the',
    )
  })

  it('exits 1 where a server has none of the models, and says which it has and which is nearest', async () => {
    const server = await givenServer({ models: ['mine.safetensors', 'more.ckpt'] })
    const { code, stdout, stderr } = await check(server.inferenceUrl, '--model', 'other.safetensors', 'mine')
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^error: .* has none of the models: .*\n$/),
    })
    expect(stdout).toContain('missing: other.safetensors, mine (it has mine.safetensors)\n')
    expect(stdout).toContain('it has: mine.safetensors, more.ckpt\n')
  })

  const kinds = {
    a1111: startA1111StandIn,
    comfyui: startComfyuiStandIn,
    sdcpp: startSdCppStandIn,
    openai: startOpenAiStandIn,
  } satisfies Record<ServerKind, unknown>

  it.each(Object.entries(kinds))('finds out that %s answers, whatever it was taken for', async (kind, start) => {
    const server = await start()
    closers.push(() => server.close())
    for (const taken of Object.keys(kinds).filter((other) => other !== kind)) {
      const { code, stderr } = await check(`${taken}+${server.url}${taken === 'openai' ? '?sampler=euler' : ''}`)
      expect(code).toBe(1)
      expect(stderr).toMatch(/^error: [^\n]+\n$/)
      expect(stderr).toContain(`: write ${kind}+${server.url};`)
    }
    const { stdout, stderr } = await check(server.url)
    // Nobody else can say which sampler an OpenAI server draws with.
    if (kind === 'openai') expect(stderr).toContain('which sampler the server draws with')
    else expect(stdout).toContain(`${kind}+${server.url} answers`)
  })

  it.each(['nobody listens', 'another web server listens'])(
    'says so where %s at an address without a kind of server',
    async (what) => {
      const server = await givenServer()
      if (what === 'nobody listens') await server.refuse()
      else server.set({ fault: 'garbage', scope: 'all' })
      const { code, stderr } = await check(server.url)
      expect(code).toBe(1)
      expect(stderr).toMatch(
        what === 'nobody listens'
          ? /ECONNREFUSED \(in a container .*\); check the address/
          : /^error: No server that Easel can use/,
      )
    },
  )

  it('tells everything as one JSON value', async () => {
    const server = await givenServer({ models: ['mine.safetensors'] })
    const { stdout } = await check(server.inferenceUrl, '--model', 'mine.safetensors', '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ models: ['mine.safetensors'], missing_models: [], max_seed: 4294967295, size_multiple: 8 },
      image: { path: output, model: 'mine.safetensors', sampler: 'euler_a', took_ms: expect.any(Number) },
    })
  })

  it.each([
    ['wrong password', /401.*put the right user:password@ into the URL\.$/],
    [
      'nobody listens',
      /ECONNREFUSED \(in a container this address is the container itself: write host.docker.internal\); check/,
    ],
    ['an image of another size', /drew .* instead of 512x512; look at its log/],
    ['no answer', /did not say within 4 s what it has; check the address, and that it runs with its API on\.$/],
  ])('exits 1 with one sentence that says what to do: %s', async (what, sentence) => {
    const server = await givenServer({
      models: ['mine.safetensors'],
      ...(what === 'wrong password' && { auth: 'me:secret' }),
    })
    if (what === 'nobody listens') await server.refuse()
    if (what === 'an image of another size') server.set({ fault: 'wrong_size' })
    if (what === 'no answer') server.set({ fault: 'hang', scope: 'all' })
    const { code, stderr } = await check(`a1111+${server.url}`, '--model', 'mine.safetensors')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^error: [^\n]+\n$/)
    expect(stderr.trim()).toMatch(sentence)
    expect(stderr).not.toContain('secret')
  })

  it('says that a server is KoboldCpp, which imitates others and cannot be used', async () => {
    const url = await givenKoboldCpp()
    for (const address of [url, `a1111+${url}`]) {
      const { code, stderr } = await check(address)
      expect(code).toBe(1)
      expect(stderr).toMatch(/^error: \S+ is KoboldCpp, which Easel cannot use: serve the model with [^\n]+\.\n$/)
    }
  })

  it('has a server look again for a model that was added after its start', async () => {
    const server = await givenServer({ models: ['old.safetensors'], added: ['new.safetensors'] })
    const { code, stdout } = await check(server.inferenceUrl, '--model', 'new.safetensors')
    expect(stdout).toContain('models: 1 of 1\n')
    expect(code).toBe(0)
  })

  it('asks the server for nothing if the image could not be written to its file', async () => {
    const server = await givenServer({ models: ['mine.safetensors'] })
    const path = join(directory, 'nowhere', 'image.png')
    expect(await checkInto(path, server.inferenceUrl, '--model', 'mine.safetensors')).toEqual({
      ...{ code: 1, stdout: '' },
      stderr: `error: The image can't be written to ${path} (ENOENT); name another file with --output.\n`,
    })
    expect(server.journal).toEqual([])
  })
})
