import { coverage, fill, fillFalling, type Painting } from './canvas.js'
import { lighter, ramp } from './colour.js'
import { clamp, type Dice, layered, mix, noise, rise } from './noise.js'
import { below, edge, ellipse, type Outline } from './outline.js'
import { distant } from './palette.js'
import { type Spot, silhouette } from './place.js'
import type { Scene } from './scene.js'

interface Row {
  /** 0 far, 1 close by. */
  readonly near: number
  /** Where the ground lies, and how tall the trees are, in pixels. */
  readonly base: number
  readonly height: number
  /** How much of the middle is kept free, 0 to 1, for the eye to pass. */
  readonly open: number
}

/** Rows of conifers standing in mist, the nearest dark and tall. */
export function* paintForest(scene: Scene, rows = 6): Painting {
  const { canvas, horizon, unit } = scene
  for (let row = 0; row < rows; row++) {
    const near = row / (rows - 1)
    const base = mix(horizon * 0.84, canvas.height * 1.02, near)
    yield* paintRow(scene, { near, base, height: unit * mix(0.09, 0.62, near ** 1.6), open: rise(0.4, 0.8, near) })
  }
}

/** A single row of trees, such as stands before a range of mountains. */
export function* paintRow(scene: Scene, { near, base, height, open }: Row): Painting {
  const { canvas, palette, unit, motif, detail } = scene
  const draw = motif.dice.named(`row${near}`)
  const shape = noise(draw.seed)
  const ground = edge(canvas.width, (x) => base - unit * 0.08 * layered(shape, (x / unit) * 1.8, near * 9, 3))
  const outlines: Outline[] = [below(ground, canvas.height)]
  for (let x = -height * 0.2; x < canvas.width + height * 0.2; x += height * draw.between(0.07, 0.3)) {
    const aside = rise(0.05, 0.4, Math.abs(x / canvas.width - 0.5))
    const size = draw.between(0.45, 1.1) * mix(1, aside, open)
    if (size < 0.3 || shape((x / unit) * 3, 40) < -0.45) continue
    const foot = ground[clamp(Math.round(x), 0, canvas.width - 1)] as number
    outlines.push(conifer({ x, base: foot + height * 0.03, size: height * size }, detail, draw))
  }
  const colour = distant(palette, mix(0.86, 0, near ** 0.7))
  const mist = distant(palette, mix(0.98, 0.1, near))
  const fall = {
    ramp: ramp([
      [0, colour],
      [0.45, colour],
      [1, mist],
    ]),
    top: base - height,
    bottom: base + height * mix(0.5, 0.2, near),
  }
  yield* fillFalling(canvas, coverage(canvas, outlines), fall)
}

/** A spruce: whorls of branches, wider downwards, drooping, no two alike. */
function conifer({ x, base, size }: Spot, detail: number, draw: Dice): Outline {
  const whorls = Math.round(mix(5, 16, detail) * draw.between(0.8, 1.2))
  const width = size * draw.between(0.12, 0.2)
  const lean = draw.between(-0.02, 0.02) * size
  const left: number[] = []
  const right: number[] = []
  for (let i = 1; i <= whorls; i++) {
    const down = (i + draw.between(-0.25, 0.25)) / whorls
    const reach = width * down ** 0.85
    const y = base - size * (1 - down * 0.93)
    const middle = x + lean * (1 - down)
    const inner = reach * 0.42
    right.push(middle + reach * draw.between(0.7, 1.12), y, middle + inner, y - size * 0.014)
    left.unshift(middle - inner, y - size * 0.014, middle - reach * draw.between(0.7, 1.12), y)
  }
  const trunk = width * 0.09
  const hem = base - size * 0.07
  return [x + lean, base - size, ...right, x + trunk, hem, x + trunk, base, x - trunk, base, x - trunk, hem, ...left]
}

/** A broad-leaved tree: boughs that fork, and a crown of many tufts. */
export function* paintTree(scene: Scene, { x, base, size }: Spot): Painting {
  const { canvas, motif, palette, detail } = scene
  const draw = motif.dice.named('tree')
  const boughs: Outline[] = []
  const leaves: Outline[] = []
  grow(x, base + size * 0.02, Math.PI / 2 + draw.between(-0.08, 0.08), size * 0.26, size * 0.032, 0)
  const crown = distant(palette, 0.1, lighter(palette.near, 0.03))
  const fall = {
    ramp: ramp([
      [0, lighter(crown, 0.12)],
      [1, crown],
    ]),
    top: base - size,
    bottom: base - size * 0.3,
  }
  fill(canvas, boughs, silhouette(scene, 0.02))
  yield* fillFalling(canvas, coverage(canvas, leaves), fall)

  function grow(fromX: number, fromY: number, angle: number, length: number, thick: number, level: number) {
    const toX = fromX + Math.cos(angle) * length
    const toY = fromY - Math.sin(angle) * length
    const [dx, dy] = [Math.sin(angle) * thick, Math.cos(angle) * thick]
    const [tipX, tipY] = [dx * 0.65, dy * 0.65]
    boughs.push([fromX - dx, fromY - dy, toX - tipX, toY - tipY, toX + tipX, toY + tipY, fromX + dx, fromY + dy])
    if (level >= 3) for (let tuft = Math.round(3 + 7 * detail); tuft > 0; tuft--) leaves.push(leaf(toX, toY))
    if (level >= 6) return
    for (const turn of [draw.between(0.22, 0.52), -draw.between(0.22, 0.52)])
      grow(toX, toY, angle + turn, length * draw.between(0.66, 0.82), thick * 0.64, level + 1)
  }
  function leaf(atX: number, atY: number) {
    const radius = size * draw.between(0.012, 0.045)
    const [aside, up] = [size * draw.between(-0.1, 0.1), size * draw.between(-0.085, 0.06)]
    return ellipse(atX + aside, atY + up, radius * 1.25, radius * 0.85, draw.between(0, 3))
  }
}
