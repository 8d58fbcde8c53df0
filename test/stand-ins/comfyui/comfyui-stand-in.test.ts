import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { givenBackend } from '../../inference/comfyui/given.js'
import recorded from '../../inference/comfyui/recorded.json' with { type: 'json' }

type Prompt = Record<string, { class_type: string; inputs: Record<string, unknown> }>
type Refusal = { error: { type: string }; node_errors: Record<string, { errors: unknown[]; class_type: string }> }

describe('the stand-in refuses, as a real server does,', () => {
  /** What was wrong with each recorded prompt. */
  const changes: Record<string, (prompt: Prompt) => unknown> = {
    'bad sampler': (prompt) => Object.assign(prompt['3']?.inputs ?? {}, { sampler_name: 'nope' }),
    'bad model': (prompt) => Object.assign(prompt['4']?.inputs ?? {}, { ckpt_name: 'nope.safetensors' }),
    'bad scheduler': (prompt) => Object.assign(prompt['3']?.inputs ?? {}, { scheduler: 'nope' }),
    'size 8': (prompt) => Object.assign(prompt['5']?.inputs ?? {}, { width: 8 }),
    'size 20000': (prompt) => Object.assign(prompt['5']?.inputs ?? {}, { width: 20000 }),
    'steps 0': (prompt) => Object.assign(prompt['3']?.inputs ?? {}, { steps: 0 }),
    'seed -1': (prompt) => Object.assign(prompt['3']?.inputs ?? {}, { seed: -1 }),
    'batch 5000': (prompt) => Object.assign(prompt['5']?.inputs ?? {}, { batch_size: 5000 }),
    'no output node': (prompt) => delete prompt['9'],
    'unknown class': (prompt) => Object.assign(prompt['9'] ?? {}, { class_type: 'Nope' }),
    'missing input': (prompt) => delete prompt['3']?.inputs.cfg,
  }
  const told = ({ error, node_errors }: Refusal) => {
    const nodes = Object.entries(node_errors).map(([id, { class_type, errors }]) => {
      const said = errors.map((it) => {
        const { type, message, details } = it as Record<string, string>
        // Which checkpoints there are is each server's own.
        return [type, message, details?.replace(/ not in .*/, '')]
      })
      return [id, class_type, said]
    })
    return { error, nodes }
  }

  it.each(Object.entries(changes))('a prompt with the fault %s', async (name, change) => {
    const { standIn } = await givenBackend({ models: ['noise-sd15.safetensors'] })
    const [entry] = Object.values(recorded.history)
    const prompt = structuredClone(entry?.prompt[2]) as Prompt
    change(prompt)
    const response = await fetch(`${standIn.url}/prompt`, { method: 'POST', body: JSON.stringify({ prompt }) })
    const expected = recorded.refusals.find((refusal) => refusal.name === name)?.body as unknown as Refusal
    expect([response.status, told((await response.json()) as Refusal)]).toEqual([400, told(expected)])
  })

  it.each([
    ['', 500],
    ['{', 500],
    ['{"prompt":5}', 500],
    ['[]', 400],
    ['{"client_id":"x"}', 400],
  ])('the body %j', async (body, status) => {
    const { standIn } = await givenBackend()
    expect((await fetch(`${standIn.url}/prompt`, { method: 'POST', body })).status).toBe(status)
  })
})

it('tells of each execution before its client can see the end', async () => {
  const told: string[] = []
  const onExecution = async (ended: Promise<unknown>) => {
    told.push('begins')
    await ended
    told.push('ended')
  }
  const { generate } = await givenBackend({ onExecution: (ended) => void onExecution(ended) })
  await generate()
  expect(told).toEqual(['begins', 'ended'])
})

it('draws PNGs that are not of one colour, with its prompt in a text chunk', async () => {
  const { generate } = await givenBackend()
  const [image] = await generate({ prompt: 'été' })
  const { format, width, height, comments } = await sharp(image?.bytes).metadata()
  expect({ format, width, height }).toEqual({ format: 'png', width: 64, height: 64 })
  expect(comments?.find(({ keyword }) => keyword === 'prompt')?.text).toContain('"text":"\\u00e9t\\u00e9"')
  expect((await sharp(image?.bytes).stats()).channels[0]?.stdev).toBeGreaterThan(20)
})
