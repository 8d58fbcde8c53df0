import { expect, it } from 'vitest'
import { bound, type GivenGraph, node, refusal, textToImage } from './given-graphs.js'

const from = (text: unknown) => node('CLIPTextEncode', { text, clip: ['4', 1] })
const joined = (string_a: unknown, string_b: unknown) =>
  node('StringConcatenate', { string_a, string_b, delimiter: ', ' })
const box = (value: string, title?: string) => node('PrimitiveStringMultiline', { value }, title)

it.each<[string, GivenGraph]>([
  ['before trigger words', { '40': joined('', 'ohwx style') }],
  ['after trigger words', { '40': joined('ohwx style', '') }],
  ['of its own before trigger words', { '40': joined(['41', 0], 'ohwx style'), '41': box('') }],
  ['of its own after those of another', { '40': joined(['42', 0], ['41', 0]), '41': box(''), '42': box('ohwx style') }],
])('an empty text box %s may wait for the prompt: its neighbour is not taken for it', (_, nodes) => {
  expect(refusal(textToImage({ '6': from(['40', 0]), ...nodes }))).toMatch(/^The prompt of .* is made of several parts/)
})

it('an empty text box with the title gets the prompt, and its neighbour stays', () => {
  const nodes = { '6': from(['40', 0]), '40': joined(['41', 0], 'ohwx style'), '41': box('', 'prompt') }
  expect(bound(textToImage(nodes)).binding.prompt).toEqual([['41', 'value']])
})

it('an empty text box alone, and the boxes that nobody needs, are no reason to refuse', () => {
  expect(bound(textToImage({ '6': from(['41', 0]), '41': box('') })).binding.prompt).toEqual([['41', 'value']])
  const instructed = joined('You are an assistant designed to draw.', ['41', 0])
  expect(bound(textToImage({ '6': from(['40', 0]), '40': instructed, '41': box('') })).binding.prompt).toEqual([
    ['41', 'value'],
  ])
  const spare = node('StringFunction|pysssss', { action: 'append', text_a: 'a cat', text_b: '', text_c: '' })
  expect(bound(textToImage({ '6': from(['40', 0]), '40': spare })).binding.prompt).toEqual([['40', 'text_a']])
})

it.each<[string, GivenGraph]>([
  ['the name of a model', { '41': node('CheckpointName', { ckpt_name: 'pony.safetensors' }) }],
  ['the name of a LoRA', { '41': node('Lora Name', { lora: 'ink' }) }],
  ['a sampler', { '41': node('Sampler Name', { sampler_name: 'euler' }) }],
  ['a ratio', { '41': node('ResolutionSelector', { aspect_ratio: '1:1 (Square)', megapixels: 1, multiple: 8 }) }],
])('%s is never the prompt, be it the only text', (_, nodes) => {
  expect(refusal(textToImage({ '6': from(['41', 0]), ...nodes }))).toMatch(/^The prompt of .* is made of several parts/)
  const beside = textToImage({ '6': from(['40', 0]), '40': joined(['42', 0], ['41', 0]), '42': box('a cat'), ...nodes })
  expect(bound(beside).binding.prompt).toEqual([['42', 'value']])
})

it('a search for the text does not go along the wires of numbers', () => {
  const graph = textToImage({
    '6': from(['40', 0]),
    '40': node('TextGenerate', { prompt: ['41', 0], max_length: ['42', 0], width: ['43', 0], clip: ['4', 1] }),
    '41': box('a cat'),
    '42': node('Text', { text: 'long' }),
    '43': node('ResolutionSelector', { aspect_ratio: '16:9 (Widescreen)', megapixels: 1, multiple: 8 }),
  })
  expect(bound(graph).binding.prompt).toEqual([['41', 'value']])
})
