import type { InferenceRequest } from '../../core/generations/run/backend.js'
import { dice, mixed } from './svg.js'
import vocabulary from './vocabulary.json' with { type: 'json' }

type ScenePlace = keyof typeof vocabulary.place
type Subject = keyof typeof vocabulary.subject

const OUTDOORS: readonly ScenePlace[] = ['meadow', 'mountains', 'lake', 'sea', 'forest', 'desert', 'city']
/** Where these subjects can be (the others anywhere outdoors); the first is their home. */
const HOMES: Partial<Record<Subject, readonly ScenePlace[]>> = {
  lighthouse: ['sea', 'lake'],
  boat: ['sea', 'lake', 'city'],
  castle: ['mountains', ...OUTDOORS],
  tree: [...OUTDOORS, 'portrait', 'space', 'flower'],
  balloon: [...OUTDOORS, 'portrait', 'space', 'flower'],
  crown: ['portrait'],
}

/** One image to draw. */
export type Sketch = Omit<InferenceRequest, 'attemptId' | 'seeds'> & { readonly seed: number }

/** What an image shows. What no word of the prompt decides is drawn from the seed, so that each prompt has its own. */
export function motifOf(sketch: Pick<Sketch, 'prompt' | 'negativePrompt' | 'model' | 'seed'>) {
  const seed = JSON.stringify([sketch.prompt, sketch.negativePrompt, sketch.model, sketch.seed])
  const draw = dice(seed, 'motif')
  const unwanted = wordsOf(sketch.negativePrompt)
  const words = wordsOf(sketch.prompt).filter((word) => !unwanted.includes(word))
  const [subject] = meaningsOf(vocabulary.subject, words)
  const homes = subject && (HOMES[subject] ?? OUTDOORS)
  const [place] = meaningsOf(vocabulary.place, words).filter((it) => homes?.includes(it) ?? true)
  const times = meaningsOf(vocabulary.time, words)
  const weather = new Set(meaningsOf(vocabulary.weather, words))
  if (weather.size === 0 && draw.between(0, 1) < 0.3) weather.add('birds')
  const anywhere = draw.pick(['sea', 'lake', 'mountains', 'forest', 'desert', 'meadow', 'mountains', 'sea'] as const)
  const anytime = draw.pick(['dawn', 'day', 'dusk', 'dusk', 'night', 'overcast', 'dawn'] as const)
  const time = times.find((it) => it !== 'overcast') ?? times[0] ?? anytime
  return { place: place ?? homes?.[0] ?? anywhere, time, subject, weather, seed }
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/** What the words mean, in their order. */
function meaningsOf<K extends string>(lists: Readonly<Record<K, string>>, words: readonly string[]): K[] {
  const meanings = Object.entries(lists) as [K, string][]
  return words.flatMap((word) => meanings.filter(([, list]) => list.split(' ').includes(word)).map(([key]) => key))
}

/** The horizon; how many mountains, how clear the nearest, how high; rows of hills, how tall their trees, which. */
const LANDS = {
  sea: { horizon: 0.62, peaks: 2, clear: 0.5, high: 0.5, rows: 0, trees: [0, 0], kinds: ['pine'] },
  lake: { horizon: 0.6, peaks: 4, clear: 0.85, high: 1, rows: 2, trees: [50, 80], kinds: ['pine'] },
  city: { horizon: 0.7, peaks: 0, clear: 0, high: 0, rows: 3, trees: [500, 300], kinds: ['block', 'tower', 'spire'] },
  mountains: { horizon: 0.7, peaks: 4, clear: 0.75, high: 1, rows: 4, trees: [70, 280], kinds: ['pine'] },
  forest: { horizon: 0.7, peaks: 2, clear: 0.3, high: 0.8, rows: 5, trees: [170, 720], kinds: ['pine'] },
  meadow: { horizon: 0.6, peaks: 3, clear: 0.5, high: 0.75, rows: 5, trees: [50, 130], kinds: ['bush'] },
  desert: { horizon: 0.58, peaks: 0, clear: 0, high: 0, rows: 5, trees: [0, 0], kinds: ['pine'] },
  space: { horizon: 1, peaks: 2, clear: 0.95, high: 0.35, rows: 0, trees: [0, 0], kinds: ['pine'] },
  flower: { horizon: 1, peaks: 0, clear: 0, high: 0, rows: 0, trees: [0, 0], kinds: ['pine'] },
} as const

/** Daylight, lamps and stars; then two moods: the colours of the sky from the top down, and the darkest colour. */
const MOODS = {
  dawn: [0.5, 0.3, 0, '#6680b0 #b9a2d2 #f8b4c0 #ffe1b6 #3a3463', '#5f9db0 #9dcfcc #f0dcc0 #ffdeb0 #1d4a57'],
  day: [0.85, 0, 0, '#2b6ab1 #529bd1 #87c5e5 #d9f1f2 #143a44', '#2286a7 #62b4c7 #a2d5d4 #f0f1d3 #0f4440'],
  dusk: [0.18, 0.9, 0.3, '#292559 #854682 #f07a62 #ffd579 #1a0f2e', '#194764 #5b8a95 #e0b069 #ff9c56 #06202e'],
  night: [0.1, 1, 1, '#060820 #0e173b #1a3663 #3a7490 #050a1c', '#0c031f #1d0f42 #4a2870 #a04f8c #0a0420'],
  overcast: [0.34, 0.6, 0, '#414f5d #677886 #98aab3 #c4d7c7 #142733', '#3f4560 #6b6f8d #a8a2b4 #e3ccbf #191d33'],
  space: [0.5, 1, 1.4, '#04061a #141c5a #0e3f6e #35b5c9 #03040f', '#0d0418 #4a1466 #a02c72 #ff9a6b #080210'],
  flower: [0.7, 0, 0, '#10302b #1a4a38 #35683f #86a860 #0a2018', '#1d2440 #2a4668 #3f7a70 #9ab890 #101830'],
} as const

const GROUND: Partial<Record<string, string>> = { desert: '#e8955c', meadow: '#74b04a', sea: '#2f8fa8' }
const ACCENTS = ['#e8503a', '#f2a93b', '#2f9c8c', '#2f7fc2', '#7a4fb0', '#e86a9a']

export type Scene = ReturnType<typeof sceneOf>

/** What all that is drawn shares: the motif, where things are (in thousandths of the shorter side), and the colours. */
export function sceneOf(sketch: Sketch) {
  const motif = motifOf(sketch)
  const { place, time, weather } = motif
  const [draw, land] = [dice(motif.seed, 'scene'), LANDS[place === 'portrait' ? 'mountains' : place]]
  const unit = Math.min(sketch.width, sketch.height) / 1000
  const [width, height] = [sketch.width / unit, sketch.height / unit]
  const horizon = Math.round(height * land.horizon - (land.horizon < 1 ? draw.between(-40, 40) : 0))
  // A low sun at dawn and dusk, a high one by day; never in the middle.
  const low = place !== 'space' && (time === 'dawn' || time === 'dusk')
  const x = width * draw.pick([draw.between(0.2, 0.4), draw.between(0.6, 0.8)])
  const y = horizon * (low ? draw.between(0.66, 0.88) : draw.between(0.22, 0.45))
  const disc = { x, y, radius: draw.between(45, 75) * (place === 'space' ? 4 : low ? 1.4 : 1) }
  // How finely things are worked out: 0 for one step, towards 1 for a hundred.
  const detail = Math.log2(1 + sketch.steps) / Math.log2(101)

  const [daylight, lamps, stars, ...moods] = MOODS[place === 'space' || place === 'flower' ? place : time]
  const [tint, strength, accent] = [draw.pick(ACCENTS), draw.between(0.02, 0.13), draw.pick(ACCENTS)]
  // Little guidance is pale, much is harsh, 7 leaves the colours as they are.
  const guided = (colour: string) => mixed(mixed(colour, tint, strength), '#808080', (7 - sketch.cfgScale) / 40)
  const colours = draw.pick(moods).split(' ').map(guided)
  const [zenith, high, middle, edge, dark] = colours as [string, string, string, string, string]
  const [haze, cloud] = [mixed(middle, edge, 0.35), mixed(mixed(middle, edge, 0.6), '#ffffff', daylight)]
  const [light, shade] = [mixed(edge, '#fff4d6', 0.55 + 0.3 * stars), mixed(high, cloud, daylight * 0.8)]
  const snowy = mixed(dark, '#f2f6fa', 0.45 + daylight * 0.55)
  const ground = weather.has('snow') ? snowy : mixed(dark, GROUND[place] ?? '#4d8a6a', daylight)
  const sky = { zenith, high, middle, edge, haze, cloud, shade, light, stars }
  const view = { land, width, height, horizon, disc, detail }
  return { ...motif, ...view, ...sky, daylight, lamps, dark, ground, accent }
}
