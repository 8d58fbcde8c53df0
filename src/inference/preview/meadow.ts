import { fill, type Painting } from './canvas.js'
import { type Oklch, rgb } from './colour.js'
import { paintTree } from './forest.js'
import { paintHills, paintMountains } from './land.js'
import { mix } from './noise.js'
import type { Outline } from './outline.js'
import { opposite } from './place.js'
import type { Scene } from './scene.js'
import { drawCabin, drawCat } from './subjects.js'

/** Rolling hills before mountains, with a house, a tree or a cat, and flowers in the grass. */
export function* paintMeadow(scene: Scene): Painting {
  const { canvas, horizon, unit, motif } = scene
  const { subject, dice } = motif
  const down = (share: number) => mix(horizon, canvas.height, share)
  const x = canvas.width * opposite(scene, 0.17)
  yield* paintMountains(scene, { ranges: 3, nearest: 0.25 })
  yield* paintHills(scene, (near) => grassOf(scene, near))
  if (subject === 'cabin') drawCabin(scene, { x, base: down(0.3), size: unit * 0.13 })
  if (subject === 'tree' || (!subject && dice.named('lone tree').chance(0.6)))
    yield* paintTree(scene, { x, base: down(0.42), size: unit * 0.5 })
  if (!motif.weather.has('snow')) drawBlossoms(scene)
  if (subject === 'cat')
    drawCat(scene, { x: canvas.width * opposite(scene, 0.08), base: down(0.66), size: unit * 0.44 })
}

/** Green by day, nearly black by night, white in winter; darker towards the viewer. */
function grassOf({ motif, palette }: Scene, near: number): Oklch {
  const turn = motif.dice.named('grass').between(-18, 14)
  const dark = palette.near[0] < 0.25
  if (motif.weather.has('snow')) return [mix(0.93, 0.86, near) - (dark ? 0.3 : 0), 0.02, 245]
  const grass: Oklch = dark ? [palette.near[0] + 0.12, 0.05, 150 + turn] : [0.6, 0.12, 132 + turn]
  return [mix(grass[0] + 0.06, grass[0] - 0.08, near), grass[1], grass[2]]
}

/** Specks of colour in the grass, larger towards the viewer. */
function drawBlossoms(scene: Scene) {
  const { canvas, horizon, unit, motif, palette, detail } = scene
  const draw = motif.dice.named('blossoms')
  const hues = [draw.between(0, 360), draw.between(0, 360), 90]
  const dim = palette.near[0] < 0.25 ? 0.3 : 0
  const groups = hues.map((): Outline[] => [])
  for (let i = 0; i < 700 * detail; i++) {
    const near = draw.between(0, 1) ** 0.7
    const y = mix(horizon + (canvas.height - horizon) * 0.35, canvas.height, near)
    const size = unit * mix(0.0012, 0.0065, near ** 2) * draw.between(0.5, 1)
    const x = canvas.width * draw.between(0, 1)
    draw.pick(groups).push([x - size, y, x, y - size * 0.8, x + size, y, x, y + size * 0.8])
  }
  groups.forEach((group, i) => {
    fill(canvas, group, rgb([0.84 - dim, 0.13, hues[i] as number]), 0.85)
  })
}
