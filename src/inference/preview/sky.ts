import { glow, type Painting, screen } from './canvas.js'
import { rampIndex } from './colour.js'
import { clamp, layered, mix, noise, rise } from './noise.js'
import type { Scene } from './scene.js'

/** From the top down to the horizon: colours of the hour, stars, sun or moon, northern lights and clouds. */
export function* paintSky(scene: Scene): Painting {
  yield* paintAir(scene)
  if (scene.palette.stars > 0) paintStars(scene)
  if (scene.motif.weather.has('aurora')) yield* paintAurora(scene)
  if (!isHidden(scene)) paintDisc(scene)
  yield* paintClouds(scene)
}

const isHidden = ({ motif }: Scene) => motif.weather.has('rain') || motif.weather.has('snow')

function* paintAir({ canvas, palette, horizon, disc, motif, unit }: Scene): Painting {
  const { width, height, pixels } = canvas
  const { sky, light } = palette
  const [red, green, blue] = light
  const reach = 0.9 * Math.hypot(width, horizon)
  const strength = motif.time === 'night' ? 0.16 : motif.time === 'overcast' ? 0.12 : 0.3
  // Land or water covers what lies lower; a little more, for hills that dip.
  const last = Math.min(height, horizon + unit * 0.2)
  for (let y = 0, p = 0; y < last; y++) {
    const colour = rampIndex(y / horizon)
    for (let x = 0; x < width; x++, p += 3) {
      const away = ((x - disc.x) ** 2 + ((y - disc.y) * 1.5) ** 2) / (reach * reach)
      const shine = (strength * Math.max(0, 1 - away)) / (1 + 22 * away)
      pixels[p] = sky[colour] as number
      pixels[p + 1] = sky[colour + 1] as number
      pixels[p + 2] = sky[colour + 2] as number
      screen(pixels, p, red * shine, green * shine, blue * shine)
    }
    yield
  }
}

function paintStars({ canvas, palette, horizon, unit, motif }: Scene) {
  const draw = motif.dice.named('stars')
  const count = Math.round(800 * palette.stars * (canvas.width / unit) * (horizon / unit))
  for (let i = 0; i < count; i++) {
    const y = horizon * draw.between(0, 1) ** 1.4
    const size = draw.between(0, 1) ** 6
    const brightness = palette.stars * draw.between(0.25, 0.9) * (1 - (y / horizon) ** 3)
    const radius = Math.max(1.3, unit * (0.0012 + 0.0075 * size))
    glow(canvas, draw.between(0, canvas.width), y, radius, [1, 0.97 - 0.1 * draw.between(0, 1), 0.95], brightness)
  }
}

function paintDisc(scene: Scene) {
  const { canvas, palette, disc, motif } = scene
  const { width, pixels } = canvas
  const { x, y, radius } = disc
  glow(canvas, x, y, radius * 9, palette.light, motif.time === 'overcast' ? 0.25 : 0.55)
  const crater = noise(motif.dice.named('moon').seed)
  const [red, green, blue] = palette.disc
  const opacity = motif.time === 'overcast' ? 0.45 : 1
  for (let row = Math.max(0, Math.floor(y - radius)); row <= Math.min(scene.horizon - 1, y + radius); row++)
    for (let column = Math.max(0, Math.floor(x - radius)); column <= Math.min(width - 1, x + radius); column++) {
      const [dx, dy] = [(column + 0.5 - x) / radius, (row + 0.5 - y) / radius]
      const inside = clamp((1 - Math.hypot(dx, dy)) * radius + 0.5) * opacity
      if (inside === 0) continue
      const shade = palette.moon ? 1 - 0.16 * rise(0, 0.45, layered(crater, dx * 1.7, dy * 1.7, 4)) - 0.1 * dx * dx : 1
      const p = (row * width + column) * 3
      pixels[p] = mix(pixels[p] as number, red * shade, inside)
      pixels[p + 1] = mix(pixels[p + 1] as number, green * shade, inside)
      pixels[p + 2] = mix(pixels[p + 2] as number, blue * shade, inside)
    }
}

/** Curtains: bright along a wandering lower edge, fading upwards, in folds. */
function* paintAurora({ canvas, horizon, motif, unit }: Scene): Painting {
  const { width, pixels } = canvas
  const wave = noise(motif.dice.named('aurora').seed)
  for (let band = 0; band < 3; band++) {
    const level = horizon * (0.38 + 0.16 * band)
    const edge = Float32Array.from(
      { length: width },
      (_, x) => level + unit * 0.16 * layered(wave, (x / unit) * 1.3, band * 7, 3),
    )
    const fold = Float32Array.from(
      { length: width },
      (_, x) => 0.5 + 0.5 * layered(wave, (x / unit) * 9, band * 3 + 0.5, 3, 0.7),
    )
    const height = unit * (0.42 - 0.06 * band)
    for (let y = 0; y < horizon; y++) {
      for (let x = 0; x < width; x++) {
        const up = ((edge[x] as number) - y) / height
        if (up <= -0.08 || up >= 1) continue
        const strength = 0.62 * rise(-0.08, 0.06, up) * (1 - up) ** 2 * (0.35 + 0.65 * (fold[x] as number))
        screen(pixels, (y * width + x) * 3, strength * (0.12 + 0.55 * up), strength * (0.85 - 0.5 * up), strength * 0.6)
      }
      yield
    }
  }
}

/** Clouds are soft: drawn on a grid of this many cells along the canvas's longer side, and blended from there. */
const CLOUD_CELLS = 260

/** Clouds as a ceiling seen in perspective, bent by other noise, lit from where the sun is. */
function* paintClouds(scene: Scene): Painting {
  const { canvas, palette, horizon, disc, motif } = scene
  const { width, height, pixels } = canvas
  const cell = Math.max(2, Math.max(width, height) / CLOUD_CELLS)
  const columns = Math.ceil(width / cell) + 2
  const rows = Math.ceil(horizon / cell) + 2
  const { cover, lit } = yield* cloudGrid(scene, cell, columns, rows)
  const [shadeRed, shadeGreen, shadeBlue] = palette.cloudShade
  const [litRed, litGreen, litBlue] = palette.cloudLit
  const reach = (0.75 * Math.max(width, horizon)) ** 2
  const silver = motif.time === 'night' ? 0.3 : 0.75
  for (let y = 0; y < horizon; y++) {
    const gridY = y / cell
    const row = Math.floor(gridY)
    const fy = gridY - row
    for (let x = 0, p = y * width * 3; x < width; x++, p += 3) {
      const gridX = x / cell
      const column = Math.floor(gridX)
      const fx = gridX - column
      const g = row * columns + column
      const density = blend(cover, g, columns, fx, fy)
      if (density < 0.004) continue
      const bright = blend(lit, g, columns, fx, fy)
      const away = ((x - disc.x) ** 2 + (y - disc.y) ** 2) / reach
      const rim = (silver * (1 - density) * Math.max(0, 1 - away)) / (1 + 14 * away)
      const share = density * 0.94
      pixels[p] = mix(pixels[p] as number, mix(shadeRed, litRed, bright) + rim * palette.light[0], share)
      pixels[p + 1] = mix(pixels[p + 1] as number, mix(shadeGreen, litGreen, bright) + rim * palette.light[1], share)
      pixels[p + 2] = mix(pixels[p + 2] as number, mix(shadeBlue, litBlue, bright) + rim * palette.light[2], share)
    }
    yield
  }
}

function blend(grid: Float32Array, g: number, columns: number, fx: number, fy: number) {
  const above = mix(grid[g] as number, grid[g + 1] as number, fx)
  return mix(above, mix(grid[g + columns] as number, grid[g + columns + 1] as number, fx), fy)
}

function* cloudGrid(scene: Scene, cell: number, columns: number, rows: number) {
  const { canvas, horizon, disc, motif, octaves, detail } = scene
  const draw = motif.dice.named('clouds')
  const puff = noise(draw.seed)
  const bend = noise(draw.seed + 1)
  const scale = draw.between(0.75, 1.25) * 1.6
  const amount = cloudiness(scene)
  const wisps = draw.between(0.15, 0.9)
  const flat = mix(1.7, 1.2, wisps)
  const depth = new Float32Array(columns * rows)
  for (let row = 0; row < rows; row++) {
    const up = clamp((horizon - row * cell) / horizon)
    const far = 1 / (0.22 + up)
    for (let column = 0; column < columns; column++) {
      const x = ((column * cell - canvas.width / 2) / canvas.height) * far * scale
      const y = far * scale * 1.15
      const warp = layered(bend, x * 0.9, y * 0.9, 2)
      depth[row * columns + column] = layered(
        puff,
        x + warp * wisps,
        y * flat - warp * 0.5 * wisps,
        octaves,
        0.46 + 0.08 * detail,
      )
    }
    yield
  }
  const cover = new Float32Array(columns * rows)
  const lit = new Float32Array(columns * rows)
  const threshold = 0.34 - 0.62 * amount
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      const g = row * columns + column
      const here = depth[g] as number
      // Towards the light: thinner cloud there means that light gets here.
      const [dx, dy] = [disc.x - column * cell, disc.y - row * cell]
      const step = Math.max(1, Math.hypot(dx, dy))
      const nextX = clamp(Math.round(column + (dx / step) * 4), 0, columns - 1)
      const nextY = clamp(Math.round(row + (dy / step) * 4), 0, rows - 1)
      const there = depth[nextY * columns + nextX] as number
      cover[g] =
        rise(threshold, threshold + 0.42, here) * (0.35 + 0.65 * rise(0, 0.12, (horizon - row * cell) / horizon))
      lit[g] = clamp(0.52 + (here - there) * 1.5 - (here - threshold) * 0.35)
    }
  return { cover, lit }
}

function cloudiness({ motif }: Scene) {
  const draw = motif.dice.named('cloudiness')
  if (motif.weather.has('clear')) return 0.12
  if (motif.weather.has('cloudy') || motif.time === 'overcast') return draw.between(0.62, 0.8)
  return motif.time === 'night' ? draw.between(0.2, 0.45) : draw.between(0.32, 0.62)
}
