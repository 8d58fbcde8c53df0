import type { InferenceRequest } from '../../generation/run/backend.js'
import { dice } from './dice.js'

const WORDS = {
  place: {
    sea: 'sea ocean beach coast shore bay harbor harbour island waves surf fjord cliff whale pirate',
    lake: 'lake river pond water reflection swan duck',
    mountains: 'mountain mountains alps peak peaks summit valley himalaya cliffs dragon eagle volcano',
    forest: 'forest woods wood trees jungle pine pines fox deer wolf bear owl elf mushroom',
    desert: 'desert dune dunes sand sahara camel egypt pyramid canyon mars',
    meadow: 'meadow field fields hill hills grass garden farm countryside village dog horse sheep cow picnic windmill',
    city: 'city skyline street town urban skyscraper skyscrapers building buildings tokyo york london paris cyberpunk neon car metropolis rooftop downtown',
    portrait:
      'portrait face woman man girl boy person 1girl 1boy lady king queen knight wizard witch warrior samurai princess headshot character selfie people child astronaut robot',
    space: 'space galaxy planet nebula cosmos universe saturn jupiter stars alien spaceship cosmic',
    flower: 'flower flowers rose roses bouquet lotus tulip sunflower dahlia blossom bloom orchid lily mandala petals',
  },
  time: {
    dawn: 'dawn sunrise morning pastel spring pink',
    day: 'day noon sunny midday summer bright daylight blue',
    dusk: 'dusk sunset evening golden twilight autumn fall orange warm',
    night: 'night midnight moon moonlight moonlit dark stars starry nocturnal neon cyberpunk aurora northern',
    overcast: 'storm stormy overcast cloudy rain rainy fog foggy mist misty gloomy grey gray moody winter snow snowy',
  },
  subject: {
    lighthouse: 'lighthouse beacon',
    boat: 'boat sailboat ship yacht sail sailing pirate',
    cabin: 'cabin house cottage hut barn farm home village',
    castle: 'castle fortress palace kingdom tower dragon knight',
    crown: 'king queen princess',
    tree: 'tree oak',
    cat: 'cat kitten kitty cats kittens',
    balloon: 'balloon balloons airship zeppelin',
  },
  weather: {
    clear: 'clear cloudless',
    cloudy: 'cloud clouds cloudy storm stormy overcast dramatic',
    snow: 'snow snowy winter blizzard christmas',
    rain: 'rain rainy storm stormy monsoon',
    fog: 'fog foggy mist misty haze hazy',
    waves: 'wave waves storm stormy surf tsunami rough tempest',
    birds: 'bird birds seagull seagulls crow crows swallows flock eagle',
    aurora: 'aurora northern',
  },
} as const

type Place = keyof typeof WORDS.place
type Subject = keyof typeof WORDS.subject

const OUTDOORS: readonly Place[] = ['meadow', 'mountains', 'lake', 'sea', 'forest', 'desert', 'city']
/** Where these subjects can be (the others anywhere outdoors); the first is their home. */
const HOMES: Partial<Record<Subject, readonly Place[]>> = {
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
  const [subject] = meaningsOf(WORDS.subject, words)
  const homes = subject && (HOMES[subject] ?? OUTDOORS)
  const [place] = meaningsOf(WORDS.place, words).filter((it) => homes?.includes(it) ?? true)
  const times = meaningsOf(WORDS.time, words)
  const weather = new Set(meaningsOf(WORDS.weather, words))
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
