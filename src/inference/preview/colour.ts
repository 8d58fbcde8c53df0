import { clamp, mix } from './noise.js'

/** Perceptual lightness 0 to 1, chroma 0 to about 0.3, hue in degrees: OKLCH, https://bottosson.github.io/posts/oklab/ */
export type Oklch = readonly [lightness: number, chroma: number, hue: number]
/** sRGB as it is stored, each 0 to 1. */
export type Rgb = readonly [red: number, green: number, blue: number]
type Oklab = readonly [lightness: number, a: number, b: number]

const toOklab = ([lightness, chroma, hue]: Oklch): Oklab => {
  const angle = (hue * Math.PI) / 180
  return [lightness, chroma * Math.cos(angle), chroma * Math.sin(angle)]
}

/** The matrices of Björn Ottosson's OKLab; colours outside sRGB are clipped. */
function toRgb([lightness, a, b]: Oklab): Rgb {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
  return [
    encoded(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    encoded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    encoded(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ]
}

const encoded = (linear: number) => clamp(linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055)

export const rgb = (colour: Oklch): Rgb => toRgb(toOklab(colour))

/** A colour on the straight way between two, through OKLab, so that it never turns muddy or jumps round the hues. */
export function between(from: Oklch, to: Oklch, share: number): Oklch {
  const [l1, a1, b1] = toOklab(from)
  const [l2, a2, b2] = toOklab(to)
  const a = mix(a1, a2, share)
  const b = mix(b1, b2, share)
  return [mix(l1, l2, share), Math.hypot(a, b), (Math.atan2(b, a) * 180) / Math.PI]
}

export const lighter = ([lightness, chroma, hue]: Oklch, by: number): Oklch => [clamp(lightness + by), chroma, hue]

/** 256 RGB triples from the first colour to the last. */
export type Ramp = Float32Array
const RAMP_STEPS = 256

/** Colours at places from 0 to 1 (rising), blended in OKLab. */
export function ramp(stops: readonly (readonly [at: number, colour: Oklch])[]): Ramp {
  const colours = new Float32Array(RAMP_STEPS * 3)
  for (let i = 0; i < RAMP_STEPS; i++) {
    const at = i / (RAMP_STEPS - 1)
    const next = stops.findIndex(([place]) => place >= at)
    const [to, above] = stops[next === -1 ? stops.length - 1 : next] as (typeof stops)[number]
    const [from, below] = stops[Math.max(0, next === -1 ? stops.length - 1 : next - 1)] as (typeof stops)[number]
    const share = to > from ? clamp((at - from) / (to - from)) : 0
    colours.set(rgb(between(below, above, share)), i * 3)
  }
  return colours
}

/** Index of the ramp's triple at 0 to 1; the grain that is added last hides the steps. */
export const rampIndex = (at: number) =>
  (at <= 0 ? 0 : at >= 1 ? RAMP_STEPS - 1 : (at * (RAMP_STEPS - 1) + 0.5) | 0) * 3
