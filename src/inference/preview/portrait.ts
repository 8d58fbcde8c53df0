import { blankCanvas, type Coverage, coverage, fill, glow, type Painting } from './canvas.js'
import { between, lighter, type Oklch, ramp, rgb } from './colour.js'
import { paintRow } from './forest.js'
import { paintMountains } from './land.js'
import { type Dice, layered, mix, noise, rise } from './noise.js'
import { curve, ellipse, type Outline, oval, placed } from './outline.js'
import type { Scene } from './scene.js'
import { paintSky } from './sky.js'
import { wash } from './wash.js'

/**
 * A double exposure: a head and shoulders in profile before a disc of light, and within them a landscape at the
 * hour the prompt asks for. Nobody in particular.
 */
export function* paintPortrait(scene: Scene): Painting {
  const { canvas, motif, palette, unit } = scene
  const draw = motif.dice.named('portrait')
  const paper: Oklch =
    motif.time === 'night' ? [0.7, 0.045, palette.haze[2]] : between([0.95, 0.02, 85], palette.haze, 0.3)
  yield* paintPaper(scene, paper)
  const size = Math.min(unit * 0.92, canvas.height * 0.66)
  const x = canvas.width * draw.between(0.45, 0.55)
  const base = canvas.height * 0.5 + size * 0.57
  const light = rgb(between(lighter(paper, 0.05), palette.haze, motif.time === 'night' ? 0.25 : 0.35))
  const side = draw.chance(0.5) ? 1 : -1
  const [discX, discY] = [x + side * size * draw.between(0.02, 0.16), base - size * 0.72]
  glow(canvas, discX, discY, size * 1.1, light, 0.5)
  fill(canvas, [ellipse(discX, discY, size * 0.47)], light, 0.9)
  const figure = placed(figureOf(scene), x, base, size, side)
  const inner = { ...scene, canvas: blankCanvas(canvas.width, canvas.height), horizon: Math.round(base - size * 0.2) }
  yield* paintInner({ ...inner, disc: { ...scene.disc, x: x - side * size * 0.05, y: base - size * 0.8 } })
  yield* expose(scene, inner, coverage(canvas, figure), base)
}

/** In units of the figure's height, y up from its base, the face to the right: crown, face, chest, back, nape. */
const profile = curve(
  [
    [0.01, 1],
    [0.09, 0.985],
    [0.147, 0.935],
    [0.17, 0.875],
    [0.175, 0.838],
    [0.163, 0.806],
    [0.185, 0.768],
    [0.219, 0.727],
    [0.209, 0.708],
    [0.179, 0.701],
    [0.187, 0.684],
    [0.191, 0.673],
    [0.176, 0.661],
    [0.186, 0.647],
    [0.169, 0.629],
    [0.174, 0.6],
    [0.152, 0.573],
    [0.095, 0.56],
    [0.052, 0.535],
    [0.042, 0.475],
    [0.075, 0.425],
    [0.17, 0.385],
    [0.26, 0.31],
    [0.32, 0.16],
    [0.36, -0.1],
    [0.38, -0.6],
    [-0.44, -0.6],
    [-0.43, -0.1],
    [-0.4, 0.16],
    [-0.35, 0.3],
    [-0.24, 0.4],
    [-0.145, 0.455],
    [-0.117, 0.54],
    [-0.135, 0.63],
    [-0.19, 0.72],
    [-0.218, 0.82],
    [-0.193, 0.92],
    [-0.11, 0.98],
  ].flat(),
  6,
)

const mane = curve(
  [
    [0.115, 0.968],
    [0.02, 1.022],
    [-0.11, 1.012],
    [-0.21, 0.945],
    [-0.25, 0.82],
    [-0.245, 0.69],
    [-0.27, 0.56],
    [-0.35, 0.44],
    [-0.4, 0.32],
    [-0.36, 0.2],
    [-0.25, 0.17],
    [-0.14, 0.27],
    [-0.085, 0.42],
    [-0.05, 0.58],
    [-0.01, 0.72],
    [0.07, 0.88],
  ].flat(),
)

function figureOf({ motif, detail }: Scene): Outline[] {
  const draw = motif.dice.named('figure')
  switch (draw.pick(['long', 'long', 'knot', 'short'] as const)) {
    case 'long':
      return [profile, mane, ...locks(draw, mix(10, 26, detail), 0.42, 0.42)]
    case 'knot':
      return [profile, oval(-0.2, 0.985, 0.085, 0.08, 40)]
    case 'short':
      return [profile, oval(-0.055, 0.893, 0.172, 0.13, 60, -0.2)]
  }
}

/**
 * Locks that leave the back of the head and flow side by side in the wind: ribbons that taper along a wave. `length` is
 * that of the longest; the lowest starts at `from`.
 */
function locks(draw: Dice, count: number, length: number, from: number): Outline[] {
  const phase = draw.between(0, 6)
  const slant = draw.between(0.35, 0.8)
  return Array.from({ length: Math.round(count) }, (_, i) => {
    const y = mix(0.92, from, (i + draw.between(0, 1)) / count)
    const x = -0.09 - 0.05 * Math.sin((y - from) * 3)
    const reach = length * draw.between(0.55, 1)
    const [wave, wide] = [reach * draw.between(0.05, 0.11), draw.between(0.024, 0.044)]
    const steps = 14
    const upper: number[] = []
    const lower: number[] = []
    for (let step = 0; step <= steps; step++) {
      const t = step / steps
      const middle = y - reach * slant * t ** 1.5 + wave * Math.sin(4.2 * t + phase + i * 0.07) * t
      const half = wide * (1 - t) ** 0.6 * (0.6 + 0.8 * t)
      upper.push(x - reach * t, middle + half)
      lower.unshift(x - reach * t, middle - half)
    }
    return [...upper, ...lower]
  })
}

function* paintInner(scene: Scene): Painting {
  const { canvas, horizon, unit } = scene
  yield* paintSky(scene)
  yield* paintMountains(scene, { ranges: 4, nearest: 0.15 })
  for (const near of [0.6, 0.85, 1])
    yield* paintRow(scene, {
      near,
      base: mix(horizon * 0.9, canvas.height * 0.99, near ** 2),
      height: unit * mix(0.08, 0.2, near),
      open: 0,
    })
}

/** The landscape within the figure, torn off towards the lower edge; a little darker than outside, so that it stands out. */
function* expose({ canvas, unit }: Scene, inner: Scene, figure: Coverage, base: number): Painting {
  const { pixels } = canvas
  const within = inner.canvas.pixels
  const torn = noise(inner.motif.dice.named('torn').seed)
  for (let row = 0; row < figure.height; row++) {
    let i = row * figure.stride
    const y = figure.top + row
    const low = (y - base) / unit
    let p = (y * canvas.width + figure.left) * 3
    for (let column = 0; column < figure.width; column++, i++, p += 3) {
      let share = figure.values[i] as number
      if (share === 0) continue
      if (low > -0.12)
        share *= rise(0.14, -0.06, low + 0.05 * torn(((figure.left + column) / unit) * 6, (y / unit) * 6))
      pixels[p] = mix(pixels[p] as number, (within[p] as number) * 0.9, share)
      pixels[p + 1] = mix(pixels[p + 1] as number, (within[p + 1] as number) * 0.9, share)
      pixels[p + 2] = mix(pixels[p + 2] as number, (within[p + 2] as number) * 0.9, share)
    }
    yield
  }
}

/** Washed paper: one colour, a little uneven, darker towards the edges. */
function* paintPaper({ canvas, motif, unit }: Scene, paper: Oklch): Painting {
  const { width, height } = canvas
  const uneven = noise(motif.dice.named('paper').seed)
  const shades = ramp([
    [0, lighter(paper, -0.14)],
    [0.6, paper],
    [1, lighter(paper, 0.04)],
  ])
  yield* wash(canvas, shades, 8, (x, y) => {
    const edge = (x / width - 0.5) ** 2 + (y / height - 0.5) ** 2
    return 0.72 + 0.25 * layered(uneven, (x / unit) * 2, (y / unit) * 2, 3) - edge * 0.9
  })
}
