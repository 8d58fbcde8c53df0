import { coverage, fillFalling, type Painting, screen } from './canvas.js'
import { between, lighter, type Oklch, ramp, rgb } from './colour.js'
import { clamp, layered, mix, noise, rise, sample, type Tile, tile } from './noise.js'
import { below, edge, highest } from './outline.js'
import { distant } from './palette.js'
import type { Scene } from './scene.js'

/** Waves that repeat: wide and flat, as seen along the surface. */
function* waveTile(seed: number, octaves: number): Generator<void, Tile, void> {
  const waves = Array.from({ length: octaves }, (_, i) => noise(seed + i, 8 << i))
  return yield* tile(256, (x, y) =>
    waves.reduce((sum, wave, i) => sum + wave(x * (8 << i), y * (8 << i)) * 0.55 ** i, 0),
  )
}

/**
 * From the horizon down: what stands above it, mirrored and bent by the waves, and a path of light below sun or moon.
 * `calm` from 0 (open sea) to 1 (a mirror).
 */
export function* paintWater(scene: Scene, calm: number): Painting {
  const { canvas, palette, horizon, unit, disc, motif, octaves } = scene
  const { width, height, pixels } = canvas
  const draw = motif.dice.named('water')
  const waves = yield* waveTile(draw.seed, Math.max(2, Math.min(4, octaves)))
  const [deepRed, deepGreen, deepBlue] = rgb(
    distant(palette, 0.12, [palette.zenith[0] * 0.62, palette.zenith[1], palette.zenith[2]]),
  )
  const [lightRed, lightGreen, lightBlue] = palette.light
  const sparkle = motif.time === 'overcast' ? 0.35 : 1
  for (let y = horizon; y < height; y++) {
    const down = (y - horizon + 0.5) / (height - horizon)
    // A row's distance, in units of the camera's height: far rows are squeezed together.
    const far = 1 / (down + 0.018)
    const rough = mix(1.5, 0.3, calm)
    const reach = unit * 0.05 * (0.1 + down) * rough
    const veil = mix(mix(0.22, 0.62, down ** 0.7), mix(0.1, 0.42, down), calm)
    const path = unit * (0.03 + 0.2 * down)
    for (let x = 0, p = y * width * 3; x < width; x++, p += 3) {
      const across = ((x - width / 2) / unit) * far
      const wave = sample(waves, across * 66 + 900, far * 210)
      const long = sample(waves, across * 34 + far * 30, far * 46 + 400)
      const slope = wave * 0.62 + long * 0.6
      const fromY = clamp(
        horizon - 1 - (y - horizon) * mix(1, 0.96, calm) - Math.abs(slope) * reach * 1.6,
        0,
        horizon - 1,
      )
      const fromX = clamp(x + slope * reach, 0, width - 1)
      const q = (Math.floor(fromY) * width + Math.floor(fromX)) * 3
      const dark = clamp(veil + slope * 0.16 * rough)
      pixels[p] = mix(pixels[q] as number, deepRed, dark)
      pixels[p + 1] = mix(pixels[q + 1] as number, deepGreen, dark)
      pixels[p + 2] = mix(pixels[q + 2] as number, deepBlue, dark)
      const aside = (x - disc.x) / path
      const inPath = 1 / (1 + aside * aside * aside * aside)
      const shine = sparkle * inPath * (0.14 + 0.75 * rise(0.12, 0.5, slope + 0.06 * calm)) * mix(1, 0.35, down)
      const crest = 0.1 * rise(0.35, 0.7, slope) * (1 - down * 0.5)
      const glint = shine + crest
      screen(pixels, p, lightRed * glint, lightGreen * glint, lightBlue * glint)
    }
    yield
  }
}

/** A rough sea: rows of waves with sharp crests, light shining through below them, and foam that streaks their backs. */
export function* paintBreakers(scene: Scene, rows = 7): Painting {
  const { canvas, palette, horizon, unit, motif, octaves } = scene
  const draw = motif.dice.named('breakers')
  const shape = noise(draw.seed)
  const foam = yield* waveTile(draw.seed + 1, Math.max(2, Math.min(4, octaves)))
  const hue = palette.zenith[2]
  const deep: Oklch = [palette.zenith[0] * 0.55, palette.zenith[1] + 0.015, hue]
  for (let row = 0; row < rows; row++) {
    const near = row / (rows - 1)
    const base = mix(horizon + unit * 0.03, canvas.height * 1.02, near ** 1.5)
    const tall = unit * mix(0.02, 0.19, near)
    const wide = mix(5, 1.5, near) / unit
    const top = edge(canvas.width, (x) => {
      const bent = x * wide + 0.35 * shape(x * wide * 0.8, row * 5 + 60)
      const crest = 1 - Math.abs(layered(shape, bent + row * 17, row * 3.7, 3, 0.3)) * 1.7
      return base - tall * (0.55 * crest + 0.35 * shape(x * wide * 0.4, row * 7.7))
    })
    const crest = highest(top)
    const lit = distant(palette, mix(0.5, 0.12, near), between(deep, [0.72, 0.07, hue - 25], 0.55))
    const dark = distant(palette, mix(0.45, 0.02, near), lighter(deep, -0.02))
    const size = mix(420, 130, near) / unit
    const relief = (x: number, y: number) => {
      const down = (y - (top[x] as number)) / tall
      const streak = sample(foam, x * size * 0.7 + row * 50, (y + (top[x] as number) * 0.4) * size * 1.5)
      const spray = rise(0.16, 0, down - 0.12 * streak) * rise(-0.1, 0.5, streak + 0.35)
      return 0.42 * spray * mix(0.5, 1, near) + 0.09 * streak * rise(1.6, 0, down) + 0.08 * rise(0.5, 0, down)
    }
    const fall = {
      ramp: ramp([
        [0, lit],
        [1, dark],
      ]),
      top: crest,
      bottom: crest + tall * 1.5,
    }
    yield* fillFalling(canvas, coverage(canvas, [below(top, Math.min(canvas.height, base + tall * 2.5))]), fall, relief)
  }
}

/** A band of mist that lies along a line, thick in its middle and torn at its edges. */
export function* paintMist(scene: Scene, level: number, thickness: number, strength: number): Painting {
  const { canvas, palette, unit, motif } = scene
  const { width, height, pixels } = canvas
  const torn = noise(motif.dice.named(`mist${Math.round(level)}`).seed)
  const [red, green, blue] = rgb(palette.haze)
  const last = Math.min(height, Math.ceil(level + thickness))
  const cell = 8
  for (let y = Math.max(0, Math.floor(level - thickness)); y < last; y++) {
    const along = 1 - Math.abs(y - level) / thickness
    let next = layered(torn, 0, (y / unit) * 5, 3)
    for (let x = 0, p = y * width * 3; x < width; ) {
      const now = next
      next = layered(torn, ((x + cell) / unit) * 1.6, (y / unit) * 5, 3)
      for (let i = 0; i < cell && x < width; i++, x++, p += 3) {
        const share = strength * rise(0, 0.9, along * (0.9 + mix(now, next, i / cell)))
        pixels[p] = mix(pixels[p] as number, red, share)
        pixels[p + 1] = mix(pixels[p + 1] as number, green, share)
        pixels[p + 2] = mix(pixels[p + 2] as number, blue, share)
      }
    }
    yield
  }
}
