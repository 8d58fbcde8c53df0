import { expect, it } from 'vitest'
import { z } from 'zod'
import { describeAnswer, kindOfBytes } from '../../src/inference/server-reply.js'
import { givenBackend as givenA1111 } from './a1111/given.js'
import { expectDiscreet, failureOf } from './given.js'
import { givenBackend as givenOpenAi } from './openai/given.js'

const FORM = z.object({ images: z.array(z.object({ b64: z.string() })), status: z.enum(['done', 'failed']).optional() })

it.each([
  ['<html><head><title>502 Bad Gateway</title></head>', 'an HTML page titled "502 Bad Gateway" instead of JSON'],
  ['<!DOCTYPE html><p>hello', 'an HTML page of 23 bytes instead of JSON'],
  ['<?xml version="1.0"?><Error/>', 'XML of 29 bytes instead of JSON'],
  ['', 'nothing instead of JSON'],
  ['OK', 'plain text of 2 bytes instead of JSON'],
  ['\0\x01\x02', 'binary data of 3 bytes instead of JSON'],
  ['data: {"images":[]}\n\n', 'an event stream of 21 bytes instead of JSON'],
  ['{"images":[{"b64":"iVBOR', 'JSON that is damaged, or cut off after 24 bytes'],
  ['{}', 'JSON without "images"'],
  ['[]', 'an array instead of an object, as JSON'],
  ['null', 'null instead of an object, as JSON'],
  ['"busy"', 'a string instead of an object, as JSON'],
  ['{"images":"none"}', 'JSON whose "images" is a string instead of an array'],
  ['{"images":null}', 'JSON whose "images" is null instead of an array'],
  ['{"images":[{"b64":7}]}', 'JSON whose "images.0.b64" is a number instead of a string'],
  ['{"images":[],"status":"dreaming"}', 'JSON whose "status" is a string, which was not expected'],
])('says what the answer %j is', (text, words) => {
  expect(describeAnswer(text, FORM, (shown) => shown)).toBe(words)
})

it.each([
  [Buffer.from('GIF89a…'), 'a GIF'],
  [Buffer.from('BM……'), 'a BMP'],
  [Buffer.from('\0\0\0\x20ftypavif'), 'an AVIF or HEIC'],
  [Buffer.from('<svg xmlns="x">'), 'an SVG'],
  [Buffer.from('<!doctype html>'), 'an HTML page'],
  [Buffer.from('{"error":"x"}'), 'JSON'],
  [Buffer.alloc(0), 'nothing'],
  [Buffer.from('not an image'), '12 bytes of something else'],
])('says what %s is that should have been an image', (bytes, words) => {
  expect(kindOfBytes(bytes)).toBe(words)
})

const SECRET = 'a secret prompt of the subscriber'

it('tells the log in one sentence what a server answered, and not in a validator’s words', async () => {
  const a1111 = await givenA1111()
  const openAi = await givenOpenAi()
  const png = (await a1111.generate())[0]?.bytes.toString('base64') ?? ''
  const info = JSON.stringify({ all_seeds: [42], sampler_name: 'Euler a', sd_model_name: 'ponyDiffusionV6XL' })
  const said = async (body: unknown) => {
    a1111.standIn.set({ fault: { status: 200, body } })
    return failureOf(a1111.generate({ prompt: SECRET }))
  }
  const saidOfImage = async (b64_json: string) => {
    openAi.standIn.set({ fault: { status: 200, body: { data: [{ b64_json }] } } })
    return failureOf(openAi.generate({ prompt: SECRET }))
  }
  const cases = [
    [await said({ html: SECRET }), /answered txt2img with JSON without "images"$/],
    [
      await said({ images: [], info: 'x' }),
      /answered txt2img with an "info" that is plain text of 1 bytes instead of JSON$/,
    ],
    [await said({ images: [], info: '{}' }), /answered txt2img with an "info" that is JSON without "all_seeds"$/],
    [await said({ images: [], info }), /sent 0 of 1 images$/],
    [await said({ images: [png.slice(0, 40)], info }), /cannot be read: it is damaged, or cut off after 30 bytes/],
    [await saidOfImage(`https://cdn.example/${SECRET}`), /sent the address of an image instead of its data$/],
    [await saidOfImage(`<html>${SECRET}</html>`), /sent an image that is not base64$/],
    [await saidOfImage(Buffer.from('GIF89a').toString('base64')), /it is a GIF instead of a PNG, JPEG or WebP$/],
  ] as const
  for (const [error, words] of cases) {
    expect(error).toMatchObject({ kind: 'bad_output', message: expect.stringMatching(words) })
    expectDiscreet(error, SECRET)
    expect(`${error.cause}`).not.toMatch(/Zod|invalid_type/)
  }
})
