import { glow, type Painting, screen } from './canvas.js'
import { type Oklch, ramp, rampIndex, rgb } from './colour.js'
import { clamp, layered, mix, noise, rise } from './noise.js'
import type { Scene } from './scene.js'
import { wash } from './wash.js'

/** Clouds of gas in three hues that belong together, stars, and a planet with its ring. */
export function* paintSpace(scene: Scene): Painting {
  const { canvas, motif, unit } = scene
  const draw = motif.dice.named('space')
  const hue = draw.between(0, 360)
  yield* paintNebula(scene, hue)
  for (let i = 0; i < 700 * (canvas.width / unit) * (canvas.height / unit); i++) {
    const size = draw.between(0, 1) ** 9
    const warm = draw.between(0, 1)
    const radius = Math.max(1.25, unit * (0.0012 + 0.016 * size))
    glow(
      canvas,
      draw.between(0, canvas.width),
      draw.between(0, canvas.height),
      radius,
      [0.85 + 0.15 * warm, 0.9, 1 - 0.2 * warm],
      draw.between(0.2, 1),
    )
    if (i % 40 === 0) yield
  }
  const side = draw.chance(0.5) ? 0.34 : 0.66
  const radius = unit * draw.between(0.2, 0.29)
  yield* paintPlanet(scene, {
    x: canvas.width * side,
    y: canvas.height * draw.between(0.38, 0.62),
    radius,
    hue: hue + draw.between(120, 200),
  })
}

function* paintNebula({ canvas, motif, octaves, unit }: Scene, hue: number): Painting {
  const gas = noise(motif.dice.named('nebula').seed)
  const colours = ramp([
    [0, [0.1, 0.03, hue + 40]],
    [0.35, [0.2, 0.07, hue + 20]],
    [0.6, [0.42, 0.14, hue]],
    [0.8, [0.66, 0.15, hue - 35]],
    [1, [0.92, 0.08, hue - 70]],
  ])
  yield* wash(canvas, colours, Math.max(3, Math.round(unit / 230)), (px, py) => {
    const [x, y] = [(px / unit) * 1.7, (py / unit) * 1.7]
    const bentX = layered(gas, x + 3.1, y, 3)
    const bentY = layered(gas, x, y + 7.7, 3)
    const thick = layered(gas, x + 1.7 * bentX + 20, y + 1.7 * bentY, octaves, 0.52)
    const dust = layered(gas, x * 1.6 + bentY * 2 + 60, y * 1.6 + bentX * 2, Math.max(2, octaves - 1), 0.55)
    return 0.42 + thick * 0.95 - rise(0.05, 0.5, dust) * 0.3
  })
}

interface Planet {
  readonly x: number
  readonly y: number
  readonly radius: number
  readonly hue: number
}

/** A gas giant, lit from the upper left, with a ring that passes behind and before it. */
function* paintPlanet({ canvas, motif, octaves }: Scene, { x, y, radius, hue }: Planet): Painting {
  const { width, height, pixels } = canvas
  const draw = motif.dice.named('planet')
  const storm = noise(draw.seed)
  const bands = ramp([
    [0, [0.5, 0.11, hue]],
    [0.3, [0.7, 0.1, hue + 18]],
    [0.55, [0.84, 0.06, hue + 40]],
    [0.8, [0.62, 0.12, hue - 12]],
    [1, [0.9, 0.04, hue + 60]],
  ])
  const ringColour = rgb([0.86, 0.05, hue + 40] satisfies Oklch)
  const tilt = draw.between(-0.5, 0.5)
  const [cos, sin] = [Math.cos(tilt), Math.sin(tilt)]
  const squeeze = draw.between(0.2, 0.34)
  glow(canvas, x, y, radius * 2.1, rgb([0.7, 0.1, hue]), 0.6)
  const last = Math.min(height - 1, Math.ceil(y + radius * 2.1))
  for (let row = Math.max(0, Math.floor(y - radius * 2.1)); row <= last; row++) {
    for (
      let column = Math.max(0, Math.floor(x - radius * 2.1));
      column <= Math.min(width - 1, x + radius * 2.1);
      column++
    ) {
      const [px, py] = [(column + 0.5 - x) / radius, (row + 0.5 - y) / radius]
      const [u, v] = [px * cos + py * sin, -px * sin + py * cos]
      const p = (row * width + column) * 3
      const inside = clamp((1 - Math.hypot(px, py)) * radius + 0.5)
      if (inside > 0) {
        const deep = Math.sqrt(Math.max(0, 1 - px * px - py * py))
        const latitude = v * 2.4 + 0.16 * layered(storm, u * 2.4 + 9, v * 6, octaves)
        const colour = rampIndex(0.5 + 0.75 * layered(storm, 3.3, latitude * 2.2 + 20, 3, 0.7))
        const light = clamp(0.04 + 1.15 * rise(-0.15, 1, -0.62 * px - 0.5 * py + 0.6 * deep))
        const rim = 0.35 * (1 - deep) ** 3 * light
        for (let channel = 0; channel < 3; channel++)
          pixels[p + channel] = mix(
            pixels[p + channel] as number,
            (bands[colour + channel] as number) * light + rim,
            inside,
          )
      }
      const ring = Math.hypot(u, v / squeeze)
      if (ring < 1.3 || ring > 2.08 || (inside > 0 && v < 0)) continue
      const gap = 0.25 + 0.75 * rise(-0.35, 0.35, storm(ring * 13, 0.5))
      const share = gap * rise(1.3, 1.34, ring) * rise(2.08, 1.98, ring) * 0.8
      const shadow = inside > 0 ? 0.9 : px * 0.62 + py * 0.5 > 0 && Math.abs(px * 0.5 - py * 0.62) < 0.9 ? 0.3 : 1
      if (inside > 0)
        for (let channel = 0; channel < 3; channel++)
          pixels[p + channel] = (pixels[p + channel] as number) * (1 - share * 0.75)
      screen(pixels, p, ringColour[0] * share * shadow, ringColour[1] * share * shadow, ringColour[2] * share * shadow)
    }
    yield
  }
}
