import type { InferenceRequest } from '../../generation/run/backend.js'
import { blankCanvas, type Canvas } from './canvas.js'
import { type Motif, motifOf } from './motif.js'
import { type Dice, mix } from './noise.js'
import { type Palette, paletteOf } from './palette.js'

/** One picture to draw. */
export type Sketch = Omit<InferenceRequest, 'attemptId' | 'seeds'> & { readonly seed: number }

/** Everything the painters share: the canvas, what to show, in which colours, and where things are (pixels). */
export interface Scene {
  readonly canvas: Canvas
  readonly motif: Motif
  readonly palette: Palette
  /** Where the sky ends. */
  readonly horizon: number
  /** The shorter side: sizes are shares of it. */
  readonly unit: number
  /** Sun or moon. */
  readonly disc: { readonly x: number; readonly y: number; readonly radius: number }
  /** 0 for one step, towards 1 for a hundred: how finely things are worked out. */
  readonly detail: number
  readonly octaves: number
}

/** The place of the horizon, as a share of the height. */
const HORIZON = { sea: 0.6, lake: 0.6, mountains: 0.78, forest: 0.74, desert: 0.56, meadow: 0.58, city: 0.7 } as const

export function sceneOf(sketch: Sketch): Scene {
  const { width, height, steps } = sketch
  const motif = motifOf(sketch)
  const palette = paletteOf(motif)
  const draw = motif.dice.named('scene')
  const unit = Math.min(width, height)
  const detail = Math.log2(1 + steps) / Math.log2(101)
  const share = motif.place in HORIZON ? HORIZON[motif.place as keyof typeof HORIZON] : 0.7
  const horizon = Math.round(height * (share + draw.between(-0.03, 0.03)))
  const octaves = 1 + Math.round(5 * detail)
  return { canvas: blankCanvas(width, height), motif, palette, horizon, unit, disc: discOf(), detail, octaves }

  /** A low sun at dawn and dusk, a high one by day; never in the middle. */
  function discOf() {
    const side = draw.chance(0.5) ? draw.between(0.22, 0.38) : draw.between(0.62, 0.78)
    const low = motif.time === 'dawn' || motif.time === 'dusk'
    const up = low ? draw.between(0.08, 0.22) : draw.between(0.5, 0.75)
    return { x: side * width, y: mix(horizon, 0, up), radius: unit * radiusOf(draw, low) }
  }
}

const radiusOf = (draw: Dice, low: boolean) => (low ? draw.between(0.055, 0.08) : draw.between(0.035, 0.05))
