import { type Rgb, rgb } from './colour.js'
import { distant } from './palette.js'
import type { Scene } from './scene.js'

/** Where a thing stands. */
export interface Spot {
  /** Pixels: its middle, and where it touches the ground. */
  readonly x: number
  readonly base: number
  /** About how tall it is, in pixels. */
  readonly size: number
}

/** The colour of a thing seen against the sky, `distance` away. */
export const silhouette = ({ palette }: Scene, distance = 0.08): Rgb => rgb(distant(palette, distance))

/** A share of the width on the side where neither sun nor moon is. */
export const opposite = ({ disc, canvas }: Scene, aside: number) => 0.5 + (disc.x < canvas.width / 2 ? aside : -aside)
