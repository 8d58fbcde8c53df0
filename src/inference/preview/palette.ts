import { between, type Oklch, type Ramp, type Rgb, ramp, rgb } from './colour.js'
import type { Motif, Time } from './motif.js'

/** The colours of one picture, so chosen that everything drawn with them belongs together. */
export interface Palette {
  /** From the zenith (0) to the horizon (1). */
  readonly sky: Ramp
  readonly zenith: Oklch
  /** What distance fades into. */
  readonly haze: Oklch
  /** Ground and silhouettes close by. */
  readonly near: Oklch
  /** Sun or moon, and what it does to cloud edges and water. */
  readonly disc: Rgb
  readonly light: Rgb
  readonly cloudLit: Rgb
  readonly cloudShade: Rgb
  /** Windows and lamps. */
  readonly lamp: Rgb
  /** Strength of windows and lamps, 0 by day. */
  readonly lamps: number
  readonly stars: number
  readonly moon: boolean
}

interface Mood {
  readonly sky: readonly (readonly [at: number, colour: Oklch])[]
  readonly haze: Oklch
  readonly near: Oklch
  readonly disc: Oklch
  readonly light: Oklch
  readonly cloudLit: Oklch
  readonly cloudShade: Oklch
  readonly lamps: number
  readonly stars: number
}

const MOODS: Record<Time, readonly Mood[]> = {
  dawn: [
    {
      sky: [
        [0, [0.6, 0.08, 262]],
        [0.45, [0.76, 0.075, 300]],
        [0.75, [0.86, 0.08, 10]],
        [1, [0.93, 0.07, 70]],
      ],
      haze: [0.87, 0.06, 25],
      near: [0.3, 0.06, 285],
      disc: [0.98, 0.04, 85],
      light: [0.93, 0.09, 60],
      cloudLit: [0.95, 0.05, 40],
      cloudShade: [0.72, 0.07, 300],
      lamps: 0.15,
      stars: 0.05,
    },
    {
      sky: [
        [0, [0.66, 0.07, 220]],
        [0.5, [0.83, 0.06, 195]],
        [0.8, [0.92, 0.06, 95]],
        [1, [0.93, 0.08, 65]],
      ],
      haze: [0.89, 0.045, 90],
      near: [0.33, 0.05, 210],
      disc: [0.99, 0.04, 95],
      light: [0.95, 0.09, 80],
      cloudLit: [0.97, 0.03, 70],
      cloudShade: [0.78, 0.05, 230],
      lamps: 0.1,
      stars: 0,
    },
  ],
  day: [
    {
      sky: [
        [0, [0.52, 0.13, 254]],
        [0.5, [0.7, 0.105, 240]],
        [0.85, [0.86, 0.06, 222]],
        [1, [0.94, 0.025, 200]],
      ],
      haze: [0.85, 0.04, 232],
      near: [0.34, 0.075, 150],
      disc: [1, 0.02, 100],
      light: [0.99, 0.03, 95],
      cloudLit: [0.99, 0.008, 90],
      cloudShade: [0.76, 0.035, 250],
      lamps: 0,
      stars: 0,
    },
    {
      sky: [
        [0, [0.58, 0.1, 225]],
        [0.55, [0.78, 0.08, 210]],
        [1, [0.95, 0.04, 110]],
      ],
      haze: [0.88, 0.035, 190],
      near: [0.36, 0.08, 165],
      disc: [1, 0.03, 100],
      light: [0.98, 0.05, 95],
      cloudLit: [0.99, 0.012, 100],
      cloudShade: [0.79, 0.03, 225],
      lamps: 0,
      stars: 0,
    },
  ],
  dusk: [
    {
      sky: [
        [0, [0.3, 0.09, 283]],
        [0.35, [0.46, 0.125, 318]],
        [0.65, [0.66, 0.155, 18]],
        [0.87, [0.79, 0.15, 55]],
        [1, [0.89, 0.12, 85]],
      ],
      haze: [0.7, 0.12, 35],
      near: [0.19, 0.055, 300],
      disc: [0.97, 0.09, 92],
      light: [0.86, 0.15, 68],
      cloudLit: [0.8, 0.15, 45],
      cloudShade: [0.41, 0.095, 315],
      lamps: 0.9,
      stars: 0.25,
    },
    {
      sky: [
        [0, [0.38, 0.07, 240]],
        [0.4, [0.58, 0.075, 220]],
        [0.7, [0.78, 0.09, 95]],
        [0.88, [0.82, 0.135, 70]],
        [1, [0.8, 0.16, 50]],
      ],
      haze: [0.72, 0.1, 62],
      near: [0.21, 0.04, 235],
      disc: [0.98, 0.08, 95],
      light: [0.9, 0.13, 75],
      cloudLit: [0.86, 0.12, 62],
      cloudShade: [0.5, 0.06, 250],
      lamps: 0.8,
      stars: 0.12,
    },
    {
      sky: [
        [0, [0.27, 0.1, 300]],
        [0.4, [0.45, 0.15, 345]],
        [0.72, [0.63, 0.19, 25]],
        [1, [0.82, 0.15, 70]],
      ],
      haze: [0.63, 0.15, 22],
      near: [0.17, 0.06, 330],
      disc: [0.95, 0.1, 85],
      light: [0.83, 0.16, 55],
      cloudLit: [0.76, 0.17, 30],
      cloudShade: [0.36, 0.11, 340],
      lamps: 0.9,
      stars: 0.25,
    },
  ],
  night: [
    {
      sky: [
        [0, [0.15, 0.05, 275]],
        [0.5, [0.24, 0.075, 268]],
        [0.85, [0.36, 0.085, 255]],
        [1, [0.46, 0.075, 235]],
      ],
      haze: [0.36, 0.07, 252],
      near: [0.11, 0.035, 270],
      disc: [0.97, 0.02, 95],
      light: [0.84, 0.05, 225],
      cloudLit: [0.56, 0.05, 245],
      cloudShade: [0.22, 0.05, 272],
      lamps: 1,
      stars: 1,
    },
    {
      sky: [
        [0, [0.14, 0.06, 295]],
        [0.5, [0.23, 0.09, 290]],
        [0.85, [0.35, 0.11, 300]],
        [1, [0.47, 0.12, 330]],
      ],
      haze: [0.35, 0.1, 305],
      near: [0.1, 0.045, 290],
      disc: [0.96, 0.03, 70],
      light: [0.85, 0.07, 320],
      cloudLit: [0.54, 0.08, 315],
      cloudShade: [0.22, 0.07, 292],
      lamps: 1,
      stars: 1,
    },
    {
      sky: [
        [0, [0.16, 0.04, 235]],
        [0.5, [0.25, 0.055, 220]],
        [0.85, [0.38, 0.065, 200]],
        [1, [0.5, 0.07, 185]],
      ],
      haze: [0.38, 0.055, 205],
      near: [0.11, 0.03, 230],
      disc: [0.97, 0.03, 110],
      light: [0.88, 0.05, 180],
      cloudLit: [0.58, 0.045, 200],
      cloudShade: [0.24, 0.04, 225],
      lamps: 1,
      stars: 1,
    },
  ],
  overcast: [
    {
      sky: [
        [0, [0.42, 0.03, 250]],
        [0.5, [0.6, 0.03, 240]],
        [0.85, [0.77, 0.025, 220]],
        [1, [0.86, 0.03, 150]],
      ],
      haze: [0.76, 0.025, 225],
      near: [0.23, 0.03, 240],
      disc: [0.95, 0.03, 100],
      light: [0.9, 0.04, 100],
      cloudLit: [0.82, 0.02, 200],
      cloudShade: [0.44, 0.032, 250],
      lamps: 0.5,
      stars: 0,
    },
    {
      sky: [
        [0, [0.4, 0.035, 195]],
        [0.5, [0.58, 0.035, 190]],
        [0.85, [0.78, 0.035, 140]],
        [1, [0.87, 0.05, 95]],
      ],
      haze: [0.75, 0.03, 165],
      near: [0.22, 0.03, 200],
      disc: [0.96, 0.05, 95],
      light: [0.92, 0.06, 90],
      cloudLit: [0.82, 0.03, 120],
      cloudShade: [0.43, 0.035, 205],
      lamps: 0.5,
      stars: 0,
    },
  ],
}

/** Picks one of the time's moods and turns its hues a little, so that pictures of one time are relatives, not twins. */
export function paletteOf({ time, dice }: Motif): Palette {
  const draw = dice.named('palette')
  const mood = draw.pick(MOODS[time])
  const turn = draw.between(-9, 9)
  const turned = ([lightness, chroma, hue]: Oklch): Oklch => [lightness, chroma, hue + turn]
  const sky = mood.sky.map(([at, colour]) => [at, turned(colour)] as const)
  return {
    sky: ramp(sky),
    zenith: turned((mood.sky[0] as (typeof mood.sky)[number])[1]),
    haze: turned(mood.haze),
    near: turned(mood.near),
    disc: rgb(mood.disc),
    light: rgb(mood.light),
    cloudLit: rgb(turned(mood.cloudLit)),
    cloudShade: rgb(turned(mood.cloudShade)),
    lamp: rgb([0.88, 0.13, 78]),
    lamps: mood.lamps,
    stars: mood.stars,
    moon: time === 'night',
  }
}

/** The colour of things `distance` away: 0 close by, 1 lost in the haze. */
export const distant = ({ near, haze }: Palette, distance: number, own: Oklch = near): Oklch =>
  between(own, haze, distance)
