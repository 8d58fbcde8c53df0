/** The picture of a model version that has none: always the same one, and unlike those of other versions. */

const WIDTH = 96
const HEIGHT = 64
/** In degrees: the hues of IDs that follow one another lie far apart. */
const GOLDEN_ANGLE = 137.508

/** Numbers from 0 to 1 that only depend on the seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

type Drawing = (random: () => number, colour: (light: number) => string) => string

const round = (value: number) => Math.round(value * 10) / 10
const times = (count: number, draw: (n: number) => string) => Array.from({ length: count }, (_, n) => draw(n)).join('')

const hills: Drawing = (random, colour) => {
  const sun = `<circle cx="${round(18 + 60 * random())}" cy="${round(14 + 10 * random())}" r="${round(6 + 6 * random())}" fill="${colour(92)}"/>`
  const ridge = (n: number) => {
    const [left, peak, right] = [30, 18, 30].map((top) => round(top + 11 * n + 10 * random()))
    return `<path d="M0 ${left}Q${round(20 + 56 * random())} ${peak} ${WIDTH} ${right}V${HEIGHT}H0z" fill="${colour(62 - 14 * n)}"/>`
  }
  return sun + times(3, ridge)
}

const discs: Drawing = (random, colour) =>
  times(
    9,
    (n) =>
      `<circle cx="${round(WIDTH * random())}" cy="${round(HEIGHT * random())}" r="${round(5 + 17 * random())}" fill="${colour(40 + 6 * n)}" opacity=".7"/>`,
  )

const stripes: Drawing = (random, colour) => {
  const [angle, width] = [round(15 + 150 * random()), round(6 + 7 * random())]
  const stripe = (n: number) =>
    `<path d="M${round(-60 + n * width * 1.7)} -60v190" stroke="${colour(38 + ((n * 17) % 48))}" stroke-width="${width}"/>`
  return `<g transform="rotate(${angle} 48 32)">${times(20, stripe)}</g>`
}

const facets: Drawing = (random, colour) => {
  const [x, y] = [24 + 48 * random(), 16 + 32 * random()].map(round)
  const rim = [0, 0, 48, 0, WIDTH, 0, WIDTH, 32, WIDTH, HEIGHT, 48, HEIGHT, 0, HEIGHT, 0, 32]
  return times(8, (n) => {
    const [left, top, right, bottom] = [0, 1, 2, 3].map((side) => rim[(2 * n + side) % rim.length])
    return `<path d="M${x} ${y}L${left} ${top}L${right} ${bottom}z" fill="${colour(round(35 + 50 * random()))}"/>`
  })
}

const waves: Drawing = (random, colour) =>
  times(6, (n) => {
    const [top, swing] = [round(4 + 10 * n), round(6 + 9 * random())]
    return `<path d="M0 ${top}q24 -${swing} 48 0t48 0V${HEIGHT}H0z" fill="${colour(88 - 11 * n)}"/>`
  })

const DRAWINGS = [hills, discs, facets, waves, stripes]

/** An SVG of 3 : 2. */
export function drawnCover(id: number): string {
  const random = randomOf(id)
  const hue = (id * GOLDEN_ANGLE + 30 * random()) % 360
  const colour = (light: number) => `hsl(${round((hue + (light - 60) * 1.2 + 360) % 360)} 48% ${light}%)`
  const drawing = DRAWINGS[Math.floor(DRAWINGS.length * random())] as Drawing
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="384" height="256">` +
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="${colour(80)}"/>${drawing(random, colour)}</svg>`
  )
}
