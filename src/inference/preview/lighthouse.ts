import { coverage, fill, fillFalling, glow, type Painting, screen } from './canvas.js'
import { lighter, type Rgb, ramp, rgb } from './colour.js'
import { clamp, layered, noise, rise } from './noise.js'
import { below, type Outline, placed, rectangle } from './outline.js'
import { distant } from './palette.js'
import { type Spot, silhouette } from './place.js'
import type { Scene } from './scene.js'

/** A headland that rises from the water towards one edge of the picture, with a lighthouse on it. */
export function* paintLighthouse(scene: Scene): Painting {
  const { canvas, palette, horizon, unit, disc, motif } = scene
  const { width } = canvas
  const side = disc.x < width / 2 ? 1 : -1
  const shape = noise(motif.dice.named('headland').seed)
  const center = width * (0.5 + side * 0.26)
  const heights = Float32Array.from({ length: width }, (_, x) => {
    const inland = ((x - center) * side) / unit
    const land = rise(-0.36, 0.1, inland) * 0.15 + rise(0.1, 0.5, inland) * 0.05
    return (
      horizon +
      3 -
      unit * (land + 0.035 * rise(-0.36, 0, inland) * layered(shape, (x / unit) * 5, 0, 4)) +
      (land <= 0 ? 9 : 0)
    )
  })
  const ground = distant(palette, 0.1)
  const fall = {
    ramp: ramp([
      [0, lighter(ground, 0.035)],
      [1, distant(palette, 0.2)],
    ]),
    top: horizon - unit * 0.2,
    bottom: horizon,
  }
  const rocks = (x: number, y: number) => 0.07 * layered(shape, (x / unit) * 22, (y / unit) * 34, 3)
  yield* fillFalling(canvas, coverage(canvas, [below(heights, horizon)]), fall, rocks)
  const base = (heights[clamp(Math.round(center), 0, width - 1)] as number) + unit * 0.012
  drawLighthouse(scene, { x: center, base, size: Math.min(unit * 0.42, horizon * 0.5) }, -side)
}

function drawLighthouse(scene: Scene, { x, base, size }: Spot, beamSide: number) {
  const { canvas, palette, motif } = scene
  const dark = silhouette(scene, 0.02)
  const bright = motif.time === 'day' || motif.time === 'dawn' || motif.time === 'overcast'
  const wall: Rgb = bright ? rgb([0.95, 0.015, 80]) : rgb(distant(palette, 0.3, lighter(palette.near, 0.16)))
  const stripe: Rgb = bright ? rgb([0.56, 0.17, 28]) : rgb(distant(palette, 0.1, lighter(palette.near, 0.02)))
  const at = (outlines: readonly Outline[]) => placed(outlines, x, base, size, -beamSide)
  const tower = (from: number, to: number) => [
    -0.085 + from * 0.045,
    from * 0.76,
    0.085 - from * 0.045,
    from * 0.76,
    0.085 - to * 0.045,
    to * 0.76,
    -0.085 + to * 0.045,
    to * 0.76,
  ]
  const lamp = { x, y: base - size * 0.85 }
  if (palette.lamps > 0.3) drawBeam(scene, lamp, size, beamSide)
  // A keeper's house leans on the tower, inland.
  fill(canvas, at([[0.05, 0, 0.34, 0, 0.34, 0.1, 0.05, 0.1]]), wall)
  fill(canvas, at([[0.03, 0.095, 0.36, 0.095, 0.3, 0.18, 0.09, 0.18]]), stripe)
  fill(canvas, at([[-0.085, 0, 0.085, 0, 0.04, 0.76, -0.04, 0.76]]), wall)
  for (const i of [0, 2, 4]) fill(canvas, at([tower(0.08 + i * 0.17, 0.08 + (i + 1) * 0.17)]), stripe)
  // The side away from the sun lies in shadow.
  const shaded = Math.sign(x - scene.disc.x) || 1
  fill(canvas, placed([[0.012, 0, 0.085, 0, 0.04, 0.76, 0.008, 0.76]], x, base, size, shaded), dark, 0.45)
  fill(
    canvas,
    at([
      [-0.075, 0.75, 0.075, 0.75, 0.075, 0.775, -0.075, 0.775],
      [-0.06, 0.9, 0.06, 0.9, 0.052, 0.915, -0.052, 0.915],
    ]),
    dark,
  )
  fill(
    canvas,
    at([[-0.042, 0.775, 0.042, 0.775, 0.042, 0.905, -0.042, 0.905]]),
    palette.lamps > 0.3 ? palette.lamp : rgb([0.5, 0.03, 230]),
  )
  fill(
    canvas,
    at([
      [-0.006, 0.775, 0.006, 0.775, 0.006, 0.905, -0.006, 0.905],
      [-0.058, 0.905, 0.058, 0.905, 0.03, 0.96, 0, 0.975, -0.03, 0.96],
      [-0.005, 0.96, 0.005, 0.96, 0.003, 1.03, -0.003, 1.03],
    ]),
    dark,
  )
  const window: Rgb = palette.lamps > 0.3 ? palette.lamp : dark
  fill(
    canvas,
    at([
      rectangle(-0.012, 0.2, 0.024, 0.04),
      rectangle(-0.011, 0.45, 0.022, 0.036),
      rectangle(0.14, 0.035, 0.035, 0.04),
      rectangle(0.24, 0.035, 0.035, 0.04),
    ]),
    window,
  )
  if (palette.lamps > 0.3) {
    glow(canvas, lamp.x, lamp.y, size * 0.85, palette.lamp, 0.6 * palette.lamps)
    glow(canvas, lamp.x, lamp.y, size * 0.16, [1, 0.97, 0.88], palette.lamps)
  }
}

/** Two cones of light from the lamp, the wide one out to sea. */
function drawBeam({ canvas, palette }: Scene, lamp: { x: number; y: number }, size: number, side: number) {
  for (const [direction, length, spread, strength] of [
    [side, 3.4, 0.3, 0.5],
    [-side, 1.6, 0.14, 0.3],
  ] as const) {
    const tip = lamp.x + direction * size * length
    const cone = [
      lamp.x,
      lamp.y - size * 0.02,
      tip,
      lamp.y - size * (0.1 + spread),
      tip,
      lamp.y - size * 0.1 + size * spread * 0.4,
      lamp.x,
      lamp.y + size * 0.02,
    ]
    const { left, top, width, height, values, stride } = coverage(canvas, [cone])
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) {
        if (values[y * stride + x] === 0) continue
        const away = Math.abs(left + x - lamp.x) / (size * length)
        // Soft towards the cone's edges.
        const middle = lamp.y - size * (0.1 + spread * 0.3) * away
        const half = size * (0.02 + spread * 0.7 * away)
        const edge = clamp(1 - ((top + y - middle) / half) ** 2)
        const light = strength * palette.lamps * edge * (1 - clamp(away)) ** 1.6
        screen(
          canvas.pixels,
          ((top + y) * canvas.width + left + x) * 3,
          palette.lamp[0] * light,
          palette.lamp[1] * light,
          palette.lamp[2] * light,
        )
      }
  }
}
