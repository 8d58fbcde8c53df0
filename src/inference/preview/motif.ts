import { type Dice, dice, hashOf } from './noise.js'

const WORDS = {
  place: {
    sea: 'sea ocean beach coast shore bay harbor harbour island waves lighthouse boat ship sailboat sail surf fjord cliff whale pirate',
    lake: 'lake river pond water reflection swan duck',
    mountains: 'mountain mountains alps peak peaks summit valley himalaya cliffs dragon castle eagle volcano',
    forest: 'forest woods wood trees jungle pine pines fox deer wolf bear owl elf mushroom',
    desert: 'desert dune dunes sand sahara camel egypt pyramid canyon mars',
    meadow:
      'meadow field fields hill hills grass garden farm countryside cottage house cabin barn tree village cat kitten dog horse sheep cow balloon picnic windmill',
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
    castle: 'castle fortress palace knight king queen princess kingdom tower dragon',
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

export type Place = keyof typeof WORDS.place
export type Time = keyof typeof WORDS.time
export type Subject = keyof typeof WORDS.subject
type Weather = keyof typeof WORDS.weather

/** What a preview shows, as far as words decide it; the dice decide the rest. */
export interface Motif {
  readonly place: Place
  readonly time: Time
  readonly subject: Subject | undefined
  readonly weather: ReadonlySet<Weather>
  /** The composition's own dice: prompts and model decide them, and the seed. */
  readonly dice: Dice
}

/** Where each subject is at home when the prompt names no place. */
const HOME: Record<Subject, Place> = {
  lighthouse: 'sea',
  boat: 'sea',
  cabin: 'meadow',
  castle: 'mountains',
  tree: 'meadow',
  cat: 'meadow',
  balloon: 'meadow',
}

/** Reads a prompt; what no word decides is drawn from the dice, so that every prompt has a picture of its own. */
export function motifOf(request: {
  readonly prompt: string
  readonly negativePrompt: string
  readonly model: string
  readonly seed: number
}): Motif {
  const draw = dice(hashOf(request.prompt, request.negativePrompt, request.model, request.seed))
  const unwanted = new Set(wordsOf(request.negativePrompt))
  const words = wordsOf(request.prompt).filter((word) => !unwanted.has(word))
  const subject = firstOf(WORDS.subject, words)
  const weather = new Set(allOf(WORDS.weather, words))
  const place =
    (subject && subject !== 'tree' && subject !== 'balloon' ? HOME[subject] : undefined) ??
    firstOf(WORDS.place, words) ??
    (subject && HOME[subject]) ??
    draw.pick(['sea', 'lake', 'mountains', 'forest', 'desert', 'meadow', 'mountains', 'sea'])
  const { overcast, ...hours } = WORDS.time
  const time =
    firstOf(hours, words) ??
    firstOf({ overcast }, words) ??
    draw.pick(['dawn', 'day', 'dusk', 'dusk', 'night', 'overcast', 'dawn'])
  if (weather.size === 0 && draw.chance(0.3)) weather.add('birds')
  return { place, time, subject, weather, dice: draw }
}

const wordsOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
const lists = (list: string, word: string) => ` ${list} `.includes(` ${word} `)

/** The meaning of the first word that has one. */
function firstOf<K extends string>(meanings: Readonly<Record<K, string>>, words: readonly string[]): K | undefined {
  for (const word of words) for (const [key, list] of entries(meanings)) if (lists(list, word)) return key
  return undefined
}

const allOf = <K extends string>(meanings: Readonly<Record<K, string>>, words: readonly string[]): K[] =>
  entries(meanings).flatMap(([key, list]) => (words.some((word) => lists(list, word)) ? [key] : []))

const entries = <K extends string>(record: Readonly<Record<K, string>>) => Object.entries(record) as [K, string][]
