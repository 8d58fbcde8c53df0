import { coverage, fillFalling, type Painting } from './canvas.js'
import { lighter, type Oklch, ramp } from './colour.js'
import { clamp, layered, mix, noise, ridged, rise, sample, type Tile, tile } from './noise.js'
import { below, edge, highest, type Outline } from './outline.js'
import { distant } from './palette.js'
import type { Scene } from './scene.js'

/** Rocks: where a folded surface faces the light or turns away from it; repeats without a seam. */
function* rockTile(seed: number, octaves: number): Generator<void, Tile, void> {
  const size = 256
  const folds = Array.from({ length: octaves }, (_, i) => noise(seed + i, 4 << i))
  const height = (x: number, y: number) =>
    folds.reduce((sum, fold, i) => sum + (1 - Math.abs(fold(x * (4 << i), y * (4 << i)))) * 0.5 ** i, 0)
  const heights = yield* tile(size, height)
  return yield* tile(
    size,
    (x, y) => (sample(heights, x * size, y * size) - sample(heights, x * size + 2, y * size - 2)) * 3,
  )
}

/**
 * Ranges of mountains, each nearer one darker, over mist; snow on the high ones. `nearest` is how far in the haze the
 * last one stands, 0 to 1.
 */
export function* paintMountains(scene: Scene, { ranges, nearest }: { ranges: number; nearest: number }): Painting {
  const { canvas, palette, horizon, unit, disc, motif, detail, octaves } = scene
  const draw = motif.dice.named('mountains')
  const rock = yield* rockTile(draw.seed, Math.max(2, Math.min(4, octaves)))
  const shape = noise(draw.seed + 99)
  const tallest = horizon * draw.between(0.5, 0.62)
  const snowy = motif.weather.has('snow') || draw.chance(motif.time === 'day' || motif.time === 'dawn' ? 0.75 : 0.4)
  const side = disc.x < canvas.width / 2 ? 1 : -1
  const dim = motif.time === 'night' ? 0.5 : 1
  const baseOf = (near: number) => mix(horizon * 0.86, horizon * 1.02, near)
  for (let range = 0; range < ranges; range++) {
    const near = range / (ranges - 1)
    const base = baseOf(near)
    const height = mix(tallest, horizon * 0.16, near ** 0.8)
    const wide = mix(1.25, 2.3, near) / unit
    const top = edge(canvas.width, (x) => {
      const form = ridged(shape, x * wide + range * 23.7, range * 5.3, octaves, 0.42 + 0.06 * detail)
      const massif = 0.62 + 0.5 * layered(shape, x * wide * 0.45 + range * 11, 50 + range, 2)
      return base - height * clamp((form - 0.22) * 1.45 * massif, 0.02, 1.3)
    })
    const crest = highest(top)
    const colour = distant(palette, mix(0.8, nearest, near ** 0.75))
    const mist = distant(palette, mix(0.97, Math.max(0.4, nearest), near))
    const size = mix(190, 120, near) / unit
    const snowLine = crest + (base - crest) * mix(0.5, 0.2, near)
    const strength = mix(0.1, 0.16, near) * (0.3 + detail) * dim
    const relief = (x: number, y: number) => {
      // The texture hangs from the crest, so that folds run down from the peaks.
      const folded =
        sample(rock, x * size * side + range * 71, (y - (top[x] as number) * 0.7) * size * 0.62) *
        rise(base, base - height * 0.3, y)
      if (!snowy || range > 2) return folded * strength
      const snow = rise(0.06, -0.06, (y - snowLine) / unit + folded * 0.09) * mix(0.3, 0.2, near)
      return folded * strength + snow * (1 + folded * 0.8) * dim
    }
    const fall = {
      ramp: ramp([
        [0, colour],
        [0.45, colour],
        [1, mist],
      ]),
      top: crest,
      bottom: base + unit * 0.02,
    }
    // The next range hides everything below its own base.
    const bottom = range + 1 < ranges ? baseOf((range + 1) / (ranges - 1)) : horizon * 1.02 + unit * 0.15
    yield* fillFalling(canvas, coverage(canvas, [below(top, Math.min(canvas.height, bottom))]), fall, relief)
  }
}

/** Rolling hills down to the lower edge; `colourOf` gives each its colour from far (0) to near (1). */
export function* paintHills(scene: Scene, colourOf: (near: number) => Oklch, hills = 5): Painting {
  const { canvas, palette, horizon, unit, motif, detail, disc } = scene
  const draw = motif.dice.named('hills')
  const shape = noise(draw.seed)
  const grass = yield* rockTile(draw.seed + 1, 4)
  const side = disc.x < canvas.width / 2 ? 1 : -1
  const baseOf = (near: number) => mix(horizon, horizon + (canvas.height - horizon) * 0.78, near ** 1.25)
  for (let hill = 0; hill < hills; hill++) {
    const near = hill / (hills - 1)
    const base = baseOf(near)
    const wide = mix(1.9, 0.85, near) / unit
    const height = unit * mix(0.06, 0.13, near)
    const heightAt = (x: number) => base - height * (0.2 + layered(shape, x * wide + hill * 9, hill * 3.1, 3, 0.25))
    const top = edge(canvas.width, heightAt)
    // Slopes that face the light are brighter.
    const light = edge(canvas.width, (x) =>
      clamp(((heightAt(x + 8) - heightAt(x - 8)) / 16) * side * 0.22, -0.07, 0.07),
    )
    const colour = colourOf(near)
    const crest = highest(top)
    const reach = baseOf(near + 1 / (hills - 1)) - base + height * 1.6
    const upper = distant(palette, mix(0.62, 0, near), lighter(colour, 0.06))
    const lower = distant(palette, mix(0.5, 0.02, near), [colour[0] * 0.68, colour[1] * 0.9, colour[2] + 12])
    const fall = {
      ramp: ramp([
        [0, upper],
        [1, lower],
      ]),
      top: crest,
      bottom: crest + reach,
    }
    const outlines = [below(top, Math.min(canvas.height, crest + reach + height * 2))]
    if (hill > 0 && hill < hills - 1 && motif.place === 'meadow') outlines.push(...hedges(scene, top, near))
    const size = mix(420, 160, near) / unit
    const strength = 0.045 * (0.3 + detail) * mix(0.4, 1, near)
    const relief = (x: number, y: number) => {
      const down = (y - (top[x] as number)) / height
      const blade = sample(grass, x * size, (y - (top[x] as number) * 0.5) * size * 2.2) * strength
      return blade + (light[x] as number) * rise(2.2, 0, down) + (down < 0 ? -0.07 : 0)
    }
    yield* fillFalling(canvas, coverage(canvas, outlines), fall, relief)
  }
}

/** Small round trees along a hill's edge, in clumps. */
function hedges({ canvas, unit, motif }: Scene, top: Float32Array, near: number): Outline[] {
  const draw = motif.dice.named(`hedge${near}`)
  const clump = noise(draw.seed)
  const outlines: Outline[] = []
  const size = unit * mix(0.006, 0.034, near)
  for (let x = 0; x < canvas.width; x += size * draw.between(0.5, 1.6)) {
    if (clump((x / unit) * 5, near * 9) < 0.12) continue
    const y = top[Math.floor(x)] as number
    const tall = size * draw.between(0.7, 1.5)
    const round = Array.from({ length: 12 }, (_, i) => {
      const angle = (i / 12) * 2 * Math.PI
      return [x + Math.cos(angle) * tall * 0.62, y - tall * 0.5 + Math.sin(angle) * tall * 0.75]
    })
    outlines.push(round.flat())
  }
  return outlines
}

/** Dunes: long crests, each with a face in the light and one in shadow, and ripples blown by the wind. */
export function* paintDunes(scene: Scene, dunes = 6): Painting {
  const { canvas, horizon, unit, palette, motif, detail, disc } = scene
  const { width, height } = canvas
  const draw = motif.dice.named('dunes')
  const shape = noise(draw.seed)
  const drift = yield* rockTile(draw.seed + 1, 3)
  const side = disc.x < width / 2 ? 1 : -1
  const sand: Oklch = SAND[motif.time] ?? [0.76, 0.1, 72]
  const baseOf = (near: number) => mix(horizon + unit * 0.02, height * 0.94, near ** 1.4)
  const tallOf = (near: number) => unit * mix(0.04, 0.24, near)
  for (let dune = 0; dune < dunes; dune++) {
    const near = dune / (dunes - 1)
    const base = baseOf(near)
    const tall = tallOf(near)
    const wide = mix(2.2, 0.7, near) / unit
    const heightAt = (x: number) => {
      const fold = layered(shape, x * wide + dune * 13.3, dune * 4.7, 2, 0.22)
      return base - tall * (1 - 1.9 * Math.abs(fold) + 0.3 * shape(x * wide * 0.5, dune * 3 + 70))
    }
    const top = edge(canvas.width, heightAt)
    const crest = highest(top)
    const margin = Math.round(unit * 0.4)
    const slopes = Float32Array.from(
      { length: width + 2 * margin },
      (_, i) => (side * (heightAt(i - margin + 2) - heightAt(i - margin - 2))) / 4,
    )
    const colour = distant(palette, mix(0.5, 0, near), lighter(sand, mix(0.05, -0.03, near)))
    const foot = distant(palette, mix(0.5, 0.02, near), [sand[0] * 0.78, sand[1] * 1.05, sand[2] - 14])
    const wave = mix(0.05, 0.22, near) * unit
    const relief = (x: number, y: number) => {
      const down = (y - (top[x] as number)) / tall
      // The line between the two faces runs down from the crest and bends on its way.
      const bend = wave * (down + 0.35 * Math.sin(down * 3.1 + dune * 2.3)) * side * 0.75
      const slope = slopes[clamp(Math.round(x + bend), -margin, width + margin - 1) + margin] as number
      const dark = rise(0, 0.1, slope) * rise(2.1, 0.2, down)
      const blown = sample(drift, (x * 70) / unit, (y * 120) / unit)
      const ripples = Math.sin(y * (mix(560, 260, near) / unit) + x * (40 / unit) + blown * 3)
      return -dark * mix(0.1, 0.24, near) + (ripples * 0.014 + blown * 0.02) * near * detail * (1 - dark)
    }
    const next = near + 1 / (dunes - 1)
    const reach = baseOf(next) - crest + tall
    // The next dune hides what lies lower.
    const bottom = near < 1 ? Math.min(height, baseOf(next) + 0.45 * tallOf(next)) : height
    const fall = {
      ramp: ramp([
        [0, lighter(colour, 0.03)],
        [1, foot],
      ]),
      top: crest,
      bottom: crest + reach,
    }
    yield* fillFalling(canvas, coverage(canvas, [below(top, bottom)]), fall, relief)
  }
}

const SAND: Partial<Record<Scene['motif']['time'], Oklch>> = {
  night: [0.38, 0.055, 265],
  dusk: [0.6, 0.13, 48],
  dawn: [0.78, 0.085, 55],
  overcast: [0.66, 0.06, 75],
}
