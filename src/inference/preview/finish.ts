import type { Sampler } from '../../generation/sampler.js'
import { SAMPLERS } from '../../generation/sampler.js'
import type { Canvas } from './canvas.js'
import { stamp } from './mark.js'
import { clamp, type Dice, dice, hashOf, mix, noise, sample, type Tile, tile } from './noise.js'
import type { Sketch } from './scene.js'

/** The last pass: contrast and colour by guidance, the sampler's touch, grain, and the mark. */
export function* finish(canvas: Canvas, sketch: Sketch): Generator<void, Buffer, void> {
  const { width, height, pixels } = canvas
  const bytes = Buffer.allocUnsafe(width * height * 3)
  const { contrast, colour } = guidance(sketch.cfgScale)
  const { texture, strength, size } = yield* touchOf(sketch.sampler, Math.min(width, height))
  const { prompt, negativePrompt, model, seed, steps, cfgScale, sampler } = sketch
  let grain = hashOf(prompt, negativePrompt, model, seed, width, height, steps, cfgScale, sampler) | 1
  const [middleX, middleY] = [width / 2, height / 2]
  for (let y = 0, p = 0; y < height; y++) {
    const dy = (y - middleY) / middleY
    for (let x = 0; x < width; x++, p += 3) {
      const dx = (x - middleX) / middleX
      const edge = dx * dx + dy * dy
      const vignette = 1 - 0.07 * edge * edge
      const red = pixels[p] as number
      const green = pixels[p + 1] as number
      const blue = pixels[p + 2] as number
      const grey = 0.3 * red + 0.59 * green + 0.11 * blue
      // xorshift32: one number per pixel, the same for all channels, as film has it.
      grain ^= grain << 13
      grain ^= grain >>> 17
      grain ^= grain << 5
      const light = sample(texture, x * size, y * size) * strength * (0.35 + grey) + (grain / 2 ** 31) * 0.011
      const lift = (0.5 + (grey - 0.5) * contrast + light) * vignette
      bytes[p] = byte(lift + (red - grey) * colour)
      bytes[p + 1] = byte(lift + (green - grey) * colour)
      bytes[p + 2] = byte(lift + (blue - grey) * colour)
    }
    yield
  }
  stamp(bytes, width, height)
  return bytes
}

const byte = (value: number) => (clamp(value) * 255 + 0.5) | 0

/** Little guidance is pale, much is harsh, 7 leaves the colours as they are. */
function guidance(cfgScale: number) {
  const more = cfgScale < 7 ? (cfgScale - 7) / 7 : (cfgScale - 7) / 23
  return { contrast: 1 + more * (more < 0 ? 0.16 : 0.3), colour: 1 + more * (more < 0 ? 0.3 : 0.55) }
}

interface Touch {
  readonly texture: Tile
  readonly strength: number
  /** Tile pixels per pixel of the canvas. */
  readonly size: number
}

/** Each sampler has a touch of its own: brush, canvas or paper, in its own direction and size. */
function* touchOf(sampler: Sampler, unit: number): Generator<void, Touch, void> {
  const draw = dice(hashOf('touch', sampler))
  const kind = (['brush', 'paper', 'canvas'] as const)[SAMPLERS.indexOf(sampler) % 3] ?? 'paper'
  const size = (draw.between(0.8, 1.3) * 900) / unit
  if (kind === 'brush') return { texture: yield* brush(draw), strength: 0.018, size }
  if (kind === 'canvas') return { texture: yield* weave(draw), strength: 0.013, size }
  return { texture: yield* paper(draw), strength: 0.02, size }
}

/** Strokes in one direction. Only whole waves fit the tile, hence the direction's whole numbers. */
function* brush(draw: Dice): Generator<void, Tile, void> {
  const [long, across] = [Math.round(draw.between(2, 5)), draw.pick([32, 64])]
  const lean = draw.pick([-2, -1, 1, 2])
  const bristles = noise(draw.seed, across)
  const strokes = noise(draw.seed + 1, 16)
  return yield* tile(256, (x, y) => {
    const along = (x + lean * y) % 1
    return bristles(along * across, ((y * long) % 1) * across * 0.125) * 0.6 + strokes(along * 16, y * 16) * 0.3
  })
}

function* paper(draw: Dice): Generator<void, Tile, void> {
  const fibres = [16, 64, 128].map((period, i) => [noise(draw.seed + i, period), period] as const)
  return yield* tile(256, (x, y) =>
    fibres.reduce((sum, [fibre, period]) => sum + fibre(x * period, y * period) * 0.5, 0),
  )
}

function* weave(draw: Dice): Generator<void, Tile, void> {
  const threads = draw.pick([48, 64])
  const loose = noise(draw.seed, 16)
  return yield* tile(256, (x, y) => {
    const slack = loose(x * 16, y * 16) * 0.8
    const [warp, weft] = [Math.sin(2 * Math.PI * threads * x + slack), Math.sin(2 * Math.PI * threads * y + slack)]
    return mix(warp, weft, 0.5 + 0.5 * Math.sign(warp * weft)) * (0.7 + 0.5 * loose(y * 16, x * 16))
  })
}
