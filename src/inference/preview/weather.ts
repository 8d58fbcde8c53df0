import { fill } from './canvas.js'
import { mix } from './noise.js'
import { type Outline, placed } from './outline.js'
import { silhouette } from './place.js'
import type { Scene } from './scene.js'

/** What is in the air before everything else. */
export function drawWeather(scene: Scene) {
  const { weather } = scene.motif
  if (weather.has('birds')) drawBirds(scene)
  if (weather.has('snow')) drawSnow(scene)
  if (weather.has('rain')) drawRain(scene)
}

/** A few birds far away. */
function drawBirds(scene: Scene) {
  const { canvas, horizon, unit, motif } = scene
  const draw = motif.dice.named('birds')
  const [x, y] = [canvas.width * draw.between(0.3, 0.7), horizon * draw.between(0.3, 0.6)]
  const count = Math.round(draw.between(5, 11))
  const dark = silhouette(scene, 0.25)
  for (let i = 0; i < count; i++) {
    const size = unit * draw.between(0.008, 0.018)
    const [lift, dip] = [draw.between(0.15, 0.6), draw.between(0.1, 0.3)]
    const bird = [
      -1,
      lift,
      -0.5,
      lift + dip,
      0,
      0.1,
      0.5,
      lift + dip,
      1,
      lift,
      0.5,
      lift + dip - 0.16,
      0,
      -0.12,
      -0.5,
      lift + dip - 0.16,
    ]
    fill(
      canvas,
      placed([bird], x + unit * draw.between(-0.2, 0.2), y + unit * draw.between(-0.1, 0.1), size),
      dark,
      0.85,
    )
  }
}

function drawSnow({ canvas, unit, motif, detail }: Scene) {
  const draw = motif.dice.named('snow')
  const flakes = Array.from({ length: Math.round(500 + 500 * detail) }, (): Outline => {
    const [x, y] = [canvas.width * draw.between(0, 1), canvas.height * draw.between(0, 1)]
    const size = unit * mix(0.0012, 0.006, draw.between(0, 1) ** 4)
    return [
      x - size,
      y,
      x - size * 0.6,
      y - size * 0.8,
      x + size * 0.6,
      y - size * 0.8,
      x + size,
      y,
      x + size * 0.6,
      y + size * 0.8,
      x - size * 0.6,
      y + size * 0.8,
    ]
  })
  fill(canvas, flakes, [1, 1, 1], 0.8)
}

function drawRain({ canvas, unit, motif, detail, palette }: Scene) {
  const draw = motif.dice.named('rain')
  const drops = Array.from({ length: Math.round(300 + 500 * detail) }, (): Outline => {
    const [x, y] = [canvas.width * draw.between(-0.1, 1), canvas.height * draw.between(-0.1, 1)]
    const length = unit * draw.between(0.02, 0.06)
    return [x, y, x + 1.2, y, x + 1.2 + length * 0.22, y + length, x + length * 0.22, y + length]
  })
  fill(canvas, drops, palette.cloudLit, 0.28)
}
