import { fill, glow } from './canvas.js'
import { lighter, type Rgb, rgb } from './colour.js'
import { layered, noise } from './noise.js'
import { curve, type Outline, oval, placed, rectangle } from './outline.js'
import { distant } from './palette.js'
import { type Spot, silhouette } from './place.js'
import type { Scene } from './scene.js'

/** Things with a shape of their own, each drawn at its spot. */

/** A sailing boat, and its reflection as strong as the water is calm, 0 to 1. */
export function drawBoat(scene: Scene, { x, base, size }: Spot, reflection: number) {
  const { canvas, motif, palette } = scene
  const flip = scene.disc.x < x ? -1 : 1
  const bright = motif.time === 'day' || motif.time === 'dawn'
  const sail: Rgb = bright ? rgb([0.97, 0.015, 85]) : rgb(distant(palette, 0.35))
  const jib: Rgb = bright ? rgb([0.9, 0.03, 60]) : rgb(distant(palette, 0.25))
  const hull: Outline[] = [[-0.36, 0.13, 0.42, 0.15, 0.3, 0, -0.27, 0]]
  const main: Outline[] = [curve([-0.02, 0.2, -0.02, 0.6, -0.02, 1, -0.2, 0.6, -0.32, 0.21, -0.16, 0.185], 6)]
  const fore: Outline[] = [curve([0.02, 0.92, 0.03, 0.5, 0.03, 0.2, 0.22, 0.19, 0.39, 0.2, 0.2, 0.52], 6)]
  const mast: Outline[] = [[-0.012, 0.13, 0.012, 0.13, 0.006, 1.04, -0.006, 1.04]]
  for (const [up, opacity] of [
    [-0.75, reflection],
    [1, 1],
  ] as const) {
    const put = (outlines: readonly Outline[]) =>
      placed(
        outlines.map((outline) => outline.map((v, i) => (i % 2 ? v * up : v))),
        x,
        base,
        size,
        flip,
      )
    fill(canvas, put(main), sail, opacity)
    fill(canvas, put(fore), jib, opacity)
    fill(canvas, put([...hull, ...mast]), silhouette(scene, 0), opacity)
  }
}

/** A house with a pitched roof, a chimney, and light in its windows. */
export function drawCabin(scene: Scene, { x, base, size }: Spot) {
  const { canvas, palette } = scene
  const at = (outlines: readonly Outline[]) => placed(outlines, x, base, size)
  const wall = rgb(distant(palette, 0.16, lighter(palette.near, 0.07)))
  const lit = palette.lamps > 0.1
  fill(canvas, at([rectangle(0.3, 0.6, 0.13, 0.4)]), silhouette(scene, 0.1))
  fill(canvas, at([[-0.6, -0.05, 0.6, -0.05, 0.6, 0.48, -0.6, 0.48]]), wall)
  fill(canvas, at([[-0.72, 0.44, 0.72, 0.44, 0.46, 0.92, -0.46, 0.92]]), silhouette(scene, 0.02))
  fill(canvas, at([rectangle(-0.1, -0.05, 0.2, 0.36)]), silhouette(scene, 0.02))
  fill(
    canvas,
    at([rectangle(-0.45, 0.14, 0.2, 0.19), rectangle(0.25, 0.14, 0.2, 0.19)]),
    lit ? palette.lamp : silhouette(scene, 0.05),
  )
  fill(
    canvas,
    at([
      rectangle(-0.36, 0.14, 0.02, 0.19),
      rectangle(0.34, 0.14, 0.02, 0.19),
      rectangle(-0.45, 0.225, 0.2, 0.02),
      rectangle(0.25, 0.225, 0.2, 0.02),
    ]),
    wall,
  )
  if (lit)
    for (const side of [-0.35, 0.35])
      glow(canvas, x + side * size, base - size * 0.23, size * 0.6, palette.lamp, 0.5 * palette.lamps)
}

/** Towers with pointed roofs and a wall with battlements between them. */
export function drawCastle(scene: Scene, { x, base, size }: Spot) {
  const { canvas, palette } = scene
  const tower = (from: number, width: number, height: number): Outline[] => [
    rectangle(from, -0.3, width, height + 0.3),
    [
      from - 0.025,
      height - 0.03,
      from + width + 0.025,
      height - 0.03,
      from + width + 0.025,
      height + 0.03,
      from - 0.025,
      height + 0.03,
    ],
    [from - 0.04, height + 0.03, from + width + 0.04, height + 0.03, from + width / 2, height + 0.03 + width * 1.9],
  ]
  const battlements = Array.from({ length: 13 }, (_, i) => rectangle(-0.5 + i * 0.08, 0.3, 0.045, 0.05))
  const crag = noise(scene.motif.dice.named('crag').seed)
  const rock = Array.from({ length: 41 }, (_, i) => {
    const across = i / 20 - 1
    return [across * 1.15, 0.06 - 0.75 * Math.abs(across) ** 2.4 + 0.05 * layered(crag, across * 5, 0, 3)]
  })
  const outlines = [
    [1.15, -1.2, -1.15, -1.2, ...rock.flat()],
    rectangle(-0.5, -0.3, 1, 0.61),
    ...battlements,
    ...tower(-0.58, 0.15, 0.42),
    ...tower(0.42, 0.17, 0.38),
    ...tower(-0.24, 0.12, 0.56),
    ...tower(-0.08, 0.2, 0.68),
    ...tower(0.2, 0.1, 0.5),
  ]
  fill(canvas, placed(outlines, x, base, size), silhouette(scene, 0.16))
  if (palette.lamps === 0) return
  const windows = [
    [-0.19, 0.44],
    [-0.0, 0.5],
    [0.03, 0.34],
    [0.24, 0.4],
    [-0.51, 0.3],
    [0.5, 0.24],
    [-0.3, 0.16],
    [0.1, 0.14],
  ] as const
  for (const [wx, wy] of windows) {
    fill(canvas, placed([rectangle(wx, wy, 0.022, 0.045)], x, base, size), palette.lamp, palette.lamps)
    glow(canvas, x + (wx + 0.011) * size, base - (wy + 0.022) * size, size * 0.09, palette.lamp, 0.4 * palette.lamps)
  }
}

/** A cat that sits with its back to us and watches the sky. */
export function drawCat(scene: Scene, { x, base, size }: Spot) {
  const { canvas, palette } = scene
  const flip = scene.disc.x < x ? 1 : -1
  const body = curve([
    0, 0.02, -0.24, 0, -0.31, 0.1, -0.28, 0.28, -0.19, 0.44, -0.13, 0.6, 0, 0.66, 0.13, 0.6, 0.19, 0.44, 0.28, 0.28,
    0.31, 0.1, 0.24, 0,
  ])
  const head = oval(0, 0.735, 0.2, 0.16, 40)
  const ears: Outline[] = [
    [-0.192, 0.77, -0.188, 0.985, -0.165, 0.985, -0.035, 0.88],
    [0.192, 0.77, 0.188, 0.985, 0.165, 0.985, 0.035, 0.88],
  ]
  const tail = curve([
    0.2, 0.02, 0.38, -0.02, 0.53, 0.05, 0.56, 0.2, 0.5, 0.32, 0.44, 0.31, 0.47, 0.2, 0.43, 0.1, 0.32, 0.08, 0.2, 0.12,
  ])
  const outlines = [body, head, ...ears, tail]
  // A thin rim of light on the side of the sun: the shape once in light, then once more in the dark, moved aside.
  const rim = scene.disc.x < x ? -1 : 1
  fill(canvas, placed(outlines, x + rim * size * 0.006, base - size * 0.005, size, flip), palette.light, 0.75)
  fill(canvas, placed(outlines, x, base, size, flip), silhouette(scene, 0))
}

/** A hot-air balloon in coloured gores. */
export function drawBalloon(scene: Scene, { x, base, size }: Spot, hue: number) {
  const { canvas, palette, motif } = scene
  const dim = motif.time === 'night' ? 0.3 : motif.time === 'dusk' ? 0.16 : 0
  const at = (outlines: readonly Outline[]) => placed(outlines, x, base, size)
  const bag = (wide: number) =>
    curve([
      0,
      1,
      0.2 * wide,
      0.95,
      0.33 * wide,
      0.77,
      0.31 * wide,
      0.57,
      0.15 * wide,
      0.34,
      0.055 * wide,
      0.22,
      -0.055 * wide,
      0.22,
      -0.15 * wide,
      0.34,
      -0.31 * wide,
      0.57,
      -0.33 * wide,
      0.77,
      -0.2 * wide,
      0.95,
    ])
  const gores = [
    [0.64, 0.17, hue],
    [0.9, 0.06, 85],
    [0.66, 0.16, hue + 25],
    [0.92, 0.05, 80],
  ] as const
  gores.forEach(([lightness, chroma, turn], i) => {
    fill(canvas, at([bag(1 - i * 0.26)]), rgb(distant(palette, 0.12, [lightness - dim, chroma, turn])))
  })
  const shaded = Math.sign(x - scene.disc.x) || 1
  fill(
    canvas,
    placed(
      [curve([0.02, 1, 0.2, 0.95, 0.33, 0.77, 0.31, 0.57, 0.15, 0.34, 0.055, 0.22, 0.03, 0.3, 0.16, 0.55, 0.2, 0.78])],
      x,
      base,
      size,
      shaded,
    ),
    silhouette(scene, 0.1),
    0.22,
  )
  const dark = silhouette(scene, 0.05)
  fill(
    canvas,
    at([
      [-0.052, 0.22, -0.046, 0.22, -0.036, 0.08, -0.042, 0.08],
      [0.052, 0.22, 0.046, 0.22, 0.036, 0.08, 0.042, 0.08],
      [-0.05, 0.085, 0.05, 0.085, 0.04, 0, -0.04, 0],
    ]),
    dark,
  )
  if (palette.lamps > 0.3) glow(canvas, x, base - size * 0.4, size * 0.5, palette.lamp, 0.5)
}
