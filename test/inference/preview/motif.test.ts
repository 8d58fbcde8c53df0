import { describe, expect, it } from 'vitest'
import { motifOf } from '../../../src/inference/preview/scene.js'

const read = (prompt: string, negativePrompt = '', seed = 1) => motifOf({ prompt, negativePrompt, model: 'any', seed })

describe('reading a prompt', () => {
  it.each([
    ['a lighthouse at dusk', { place: 'sea', time: 'dusk', subject: 'lighthouse' }],
    ['Alpine LAKE, sunrise', { place: 'lake', time: 'dawn' }],
    ['a castle in the mountains at night', { place: 'mountains', time: 'night', subject: 'castle' }],
    ['hot air balloons over a desert, noon', { place: 'desert', time: 'day', subject: 'balloon' }],
    ['a lone tree on a hill', { place: 'meadow', subject: 'tree' }],
    ['a sleeping cat', { place: 'meadow', subject: 'cat' }],
    ['1girl, solo, night', { place: 'portrait', time: 'night' }],
    ['neon city', { place: 'city', time: 'night' }],
    ['lighthouse in the snow, midnight', { place: 'sea', time: 'night', weather: new Set(['snow']) }],
    ['a queen', { place: 'portrait', subject: 'crown' }],
    ['a cabin by a lake', { place: 'lake', subject: 'cabin' }],
    ['an old palace', { place: 'mountains', subject: 'castle' }],
    ['a woman under a tree', { place: 'portrait' }],
    ['a boat on a dune', { place: 'sea', subject: 'boat' }],
    ['stormy sea', { place: 'sea', time: 'overcast', weather: new Set(['cloudy', 'rain', 'waves']) }],
  ])('sees %j', (prompt, motif) => {
    expect(read(prompt)).toMatchObject(motif)
  })

  it('leaves out what the negative prompt names', () => {
    expect(read('a lighthouse by the sea', 'lighthouse').subject).toBeUndefined()
    expect(read('forest in rain', 'rain, blurry').weather.has('rain')).toBe(false)
  })

  it('does not take a part of a word for the word', () => {
    expect(read('seasoned catalogue').subject).toBeUndefined()
  })

  it('draws from the seed what the words leave open', () => {
    const seen = Array.from({ length: 60 }, (_, seed) => read('quarterly report', '', seed))
    expect(new Set(seen.map(({ place }) => place)).size).toBeGreaterThan(4)
    expect(new Set(seen.map(({ time }) => time)).size).toBeGreaterThan(3)
  })
})
