import { coverage, fill, fillFalling, glow, type Painting } from './canvas.js'
import { between, type Oklch, ramp, rgb } from './colour.js'
import { type Dice, layered, mix, noise, sample, type Tile, tile } from './noise.js'
import { curve, ellipse, type Outline } from './outline.js'
import type { Scene } from './scene.js'
import { wash } from './wash.js'

/** The angle between neighbouring petals in a real flower head: 360 degrees divided by the golden ratio squared. */
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5))

/** One large blossom before a blurred garden: petals placed as plants place them, the outermost first. */
export function* paintFlower(scene: Scene): Painting {
  const { canvas, motif, unit, detail } = scene
  const draw = motif.dice.named('flower')
  const hue = draw.pick([5, 20, 350, 330, 300, 50, 85, 270])
  yield* paintGarden(scene, draw, hue)
  const center = { x: canvas.width * draw.between(0.46, 0.54), y: canvas.height * draw.between(0.42, 0.48) }
  yield* paintStem(scene, center, draw)
  const radius = unit * draw.between(0.38, 0.44)
  const petals = Math.round(mix(34, 76, detail))
  const pointed = draw.between(0, 1)
  const vein = noise(draw.seed + 1, 16)
  const veins = yield* tile(128, (u, v) => vein(u * 16, v * 16))
  const inner: Oklch = [0.42, 0.15, hue - 12]
  const outer: Oklch = [0.88, 0.085, hue + 8]
  for (let i = petals; i > 0; i--) {
    const out = Math.sqrt(i / petals)
    const angle = i * GOLDEN_ANGLE
    const length = radius * (0.22 + 0.78 * out)
    const root: Oklch = between(inner, outer, 0.1 + 0.25 * out)
    const tip: Oklch = between(inner, outer, 0.35 + 0.65 * out)
    yield* paintPetal(
      scene,
      veins,
      { ...center, angle, length, wide: length * mix(0.34, 0.26, pointed), pointed },
      root,
      tip,
    )
  }
  paintHeart(scene, center, radius * 0.13, hue, draw)
}

interface Petal {
  readonly x: number
  readonly y: number
  readonly angle: number
  readonly length: number
  readonly wide: number
  /** 0 round, 1 sharp. */
  readonly pointed: number
}

function* paintPetal(
  { canvas }: Scene,
  veins: Tile,
  { x, y, angle, length, wide, pointed }: Petal,
  root: Oklch,
  tip: Oklch,
): Painting {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
  const put = (along: number, aside: number) => [
    x + along * length * cos - aside * wide * sin,
    y + along * length * sin + aside * wide * cos,
  ]
  const shape = curve(
    [
      put(0, 0),
      put(0.3, 0.55),
      put(0.65, 1 - 0.1 * pointed),
      put(0.9, 0.62 - 0.25 * pointed),
      put(1, 0),
      put(0.9, -0.62 + 0.25 * pointed),
      put(0.65, -1 + 0.1 * pointed),
      put(0.3, -0.55),
    ].flat(),
    6,
  )
  const area = coverage(canvas, [shape])
  fill(canvas, [shape.map((value, i) => value + length * (i % 2 ? 0.022 : 0.012))], [0.05, 0.02, 0.06], 0.2)
  const colours = ramp([
    [0, root],
    [0.55, between(root, tip, 0.6)],
    [1, tip],
  ])
  const { pixels } = canvas
  for (let row = 0; row < area.height; row++) {
    let i = row * area.stride
    for (let column = 0; column < area.width; column++, i++) {
      const share = area.values[i] as number
      if (share === 0) continue
      const [dx, dy] = [area.left + column - x, area.top + row - y]
      const along = (dx * cos + dy * sin) / length
      const aside = (-dx * sin + dy * cos) / wide
      const colour = Math.round(Math.min(1, Math.max(0, along)) * 255) * 3
      // A fold along the middle, veins beside it, light from the upper left.
      const light =
        -0.05 / (1 + 140 * aside * aside) +
        0.03 * sample(veins, aside * 56 + angle * 8, along * 12) +
        0.05 * aside * (sin > 0 ? 1 : -1) -
        0.04 * (cos + sin)
      const p = ((area.top + row) * canvas.width + area.left + column) * 3
      for (let channel = 0; channel < 3; channel++)
        pixels[p + channel] = mix(pixels[p + channel] as number, (colours[colour + channel] as number) + light, share)
    }
    if (row % 8 === 0) yield
  }
}

/** Out of focus: greens that flow into each other, with discs of light. */
function* paintGarden({ canvas, motif, unit }: Scene, draw: Dice, hue: number): Painting {
  const { width, height } = canvas
  const dark = motif.time === 'night' || motif.time === 'dusk' ? 0.14 : 0
  const greens = ramp([
    [0, [0.2 - dark / 3, 0.04, 190]],
    [0.5, [0.38 - dark, 0.06, 160]],
    [0.8, [0.55 - dark, 0.08, 130]],
    [1, [0.74 - dark, 0.08, 110]],
  ])
  const blur = noise(draw.seed)
  yield* wash(
    canvas,
    greens,
    8,
    (x, y) => 0.55 + 0.6 * layered(blur, (x / unit) * 1.4, (y / unit) * 1.4, 2) - 0.3 * (y / height),
  )
  for (let i = 0; i < 34; i++) {
    const colour = rgb([0.85, 0.09, draw.pick([hue, 100, 130, 80])])
    const spot = ellipse(draw.between(0, width), draw.between(0, height), unit * draw.between(0.015, 0.06))
    fill(canvas, [spot], colour, draw.between(0.04, 0.16))
    yield
  }
}

function* paintStem({ canvas, unit }: Scene, { x, y }: { x: number; y: number }, draw: Dice): Painting {
  const sway = unit * draw.between(-0.1, 0.1)
  const [half, bottom] = [unit * 0.012, canvas.height + unit * 0.05]
  const middle = (y + bottom) / 2
  const stem: Outline = curve([
    x - half,
    y,
    x - half + sway * 0.3,
    middle,
    x - half + sway,
    bottom,
    x + half + sway,
    bottom,
    x + half + sway * 0.3,
    middle,
    x + half,
    y,
  ])
  const fall = {
    ramp: ramp([
      [0, [0.34, 0.08, 140]],
      [1, [0.24, 0.06, 150]],
    ]),
    top: y,
    bottom,
  }
  yield* fillFalling(canvas, coverage(canvas, [stem]), fall)
}

/** Stamens, again by the golden angle. */
function paintHeart({ canvas }: Scene, { x, y }: { x: number; y: number }, radius: number, hue: number, draw: Dice) {
  glow(canvas, x, y, radius * 2.4, rgb([0.8, 0.14, 80]), 0.45)
  for (let i = 110; i > 0; i--) {
    const out = Math.sqrt(i / 110) * radius
    const angle = i * GOLDEN_ANGLE
    const colour = rgb(
      between([0.9, 0.14, 92], [0.5, 0.13, hue > 40 && hue < 120 ? 50 : 65], i / 110 + draw.between(-0.1, 0.1)),
    )
    fill(canvas, [ellipse(x + Math.cos(angle) * out, y + Math.sin(angle) * out, radius * 0.07)], colour)
  }
}
