import { coverage, fill, fillFalling, glow, type Painting } from './canvas.js'
import { lighter, ramp, rgb } from './colour.js'
import { type Dice, mix } from './noise.js'
import { type Outline, rectangle } from './outline.js'
import { distant } from './palette.js'
import type { Scene } from './scene.js'

interface Building {
  readonly x: number
  readonly width: number
  readonly height: number
}

/** Rows of towers, the far ones lost in the haze, the near ones with their windows lit. */
export function* paintCity(scene: Scene, rows = 4): Painting {
  const { canvas, palette, horizon, unit, motif } = scene
  const draw = motif.dice.named('city')
  const center = canvas.width * draw.between(0.35, 0.65)
  for (let row = 0; row < rows; row++) {
    const near = row / (rows - 1)
    const tallest = Math.min(horizon * 0.72, unit * 0.95) * mix(1, 0.62, near)
    const outlines: Outline[] = [rectangle(0, horizon - unit * 0.02, canvas.width, canvas.height)]
    const buildings: Building[] = []
    for (let x = -unit * 0.05; x < canvas.width; ) {
      const width = unit * draw.between(0.045, 0.1) * mix(0.75, 1.15, near)
      const away = (x + width / 2 - center) / (canvas.width * 0.42)
      const height = tallest * (0.22 + 0.78 * Math.exp(-away * away * 1.6)) * draw.between(0.4, 1) ** 1.2
      buildings.push({ x, width, height })
      outlines.push(...outlinesOf({ x, width, height }, scene, draw))
      x += width * draw.between(0.7, 1.3)
    }
    const colour = distant(palette, mix(0.82, 0.03, near ** 0.8))
    const mist = distant(palette, mix(0.95, 0.25, near))
    const fall = {
      ramp: ramp([
        [0, colour],
        [0.4, colour],
        [1, mist],
      ]),
      top: horizon - tallest,
      bottom: horizon + unit * 0.03,
    }
    yield* fillFalling(canvas, coverage(canvas, outlines), fall)
    if (row > 0)
      for (const building of buildings) {
        lightWindows(scene, building, near, draw)
        yield
      }
  }
}

function outlinesOf({ x, width, height }: Building, { horizon, unit }: Scene, draw: Dice): Outline[] {
  const top = horizon - height
  const body = rectangle(x, top, width, height + unit)
  const middle = x + width / 2
  const thin = unit * 0.0022
  switch (draw.pick(['flat', 'flat', 'stepped', 'spire', 'slant', 'tank'] as const)) {
    case 'flat':
      return [body]
    case 'stepped':
      return [
        body,
        rectangle(x + width * 0.15, top - height * 0.06, width * 0.7, height * 0.08),
        rectangle(x + width * 0.32, top - height * 0.11, width * 0.36, height * 0.08),
      ]
    case 'spire':
      return [
        body,
        rectangle(x + width * 0.25, top - height * 0.05, width * 0.5, height * 0.06),
        [middle - thin * 2, top - height * 0.05, middle, top - height * 0.28, middle + thin * 2, top - height * 0.05],
      ]
    case 'slant':
      return [body, [x, top, x + width, top, x + width, top - width * draw.between(0.2, 0.6)]]
    case 'tank':
      return [
        body,
        rectangle(x + width * 0.2, top - unit * 0.016, width * 0.24, unit * 0.02),
        rectangle(x + width * 0.7 - thin, top - unit * 0.04, thin * 1.4, unit * 0.05),
      ]
  }
}

/** Windows stand in a grid; whole floors are lit or dark by chance. Some are cold, most are warm. */
function lightWindows(
  { canvas, palette, horizon, unit, motif, detail }: Scene,
  { x, width, height }: Building,
  near: number,
  draw: Dice,
) {
  const pitch = unit * mix(0.0085, 0.0135, near) * mix(1.5, 1, detail)
  const size = pitch * 0.52
  const columns = Math.floor((width - pitch) / pitch)
  const floors = Math.floor((height - pitch) / (pitch * 1.35))
  const left = x + (width - columns * pitch + pitch - size) / 2
  const day = palette.lamps < 0.2
  const busy = draw.between(0.12, 0.6)
  const warm: Outline[] = []
  const cold: Outline[] = []
  for (let floor = 0; floor < floors; floor++) {
    const lit = busy * draw.between(0.3, 1.4)
    for (let column = 0; column < columns; column++) {
      if (!draw.chance(lit)) continue
      const window = rectangle(left + column * pitch, horizon - height + pitch * (1 + floor * 1.35), size, pitch * 0.72)
      if (draw.chance(0.8)) warm.push(window)
      else cold.push(window)
    }
  }
  const strength = day ? 0.3 : mix(0.35, 0.9, near) * palette.lamps
  fill(canvas, warm, day ? rgb(lighter(palette.haze, 0.05)) : palette.lamp, strength)
  fill(canvas, cold, rgb([0.86, 0.08, 220]), strength * 0.9)
  const neon = motif.time === 'night' && near === 1 && draw.chance(0.3)
  if (neon) {
    const colour = rgb(
      draw.pick([
        [0.72, 0.24, 350],
        [0.8, 0.15, 200],
        [0.75, 0.2, 310],
        [0.8, 0.17, 70],
      ] as const),
    )
    const sign = rectangle(x + width * 0.72, horizon - height * 0.82, width * 0.13, height * draw.between(0.2, 0.4))
    fill(canvas, [sign], colour, 0.9)
    glow(canvas, x + width * 0.78, horizon - height * 0.68, unit * 0.13, colour, 0.5)
  }
}
