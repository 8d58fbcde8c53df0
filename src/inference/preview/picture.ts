import type { Painting } from './canvas.js'
import { paintCity } from './city.js'
import { finish } from './finish.js'
import { paintFlower } from './flower.js'
import { paintForest, paintRow } from './forest.js'
import { paintDunes, paintMountains } from './land.js'
import { paintLighthouse } from './lighthouse.js'
import { paintMeadow } from './meadow.js'
import type { Place } from './motif.js'
import { mix } from './noise.js'
import { opposite } from './place.js'
import { paintPortrait } from './portrait.js'
import { type Scene, type Sketch, sceneOf } from './scene.js'
import { paintSky } from './sky.js'
import { paintSpace } from './space.js'
import { drawBalloon, drawBoat, drawCastle } from './subjects.js'
import { paintBreakers, paintMist, paintWater } from './water.js'
import { drawWeather } from './weather.js'

/** Draws a sketch as RGB bytes, row by row; pauses after each row or so that it has painted. */
export function* drawPreview(sketch: Sketch): Generator<void, Buffer, void> {
  const scene = sceneOf(sketch)
  yield* PLACES[scene.motif.place](scene)
  return yield* finish(scene.canvas, sketch)
}

const PLACES: Record<Place, (scene: Scene) => Painting> = {
  portrait: paintPortrait,
  space: paintSpace,
  flower: paintFlower,
  sea: outdoors(paintSea),
  lake: outdoors(paintLake),
  mountains: outdoors(paintValley),
  forest: outdoors(paintWoods),
  desert: outdoors(paintDunes),
  meadow: outdoors(paintMeadow),
  city: outdoors(paintWaterfront),
}

/** A landscape between the sky behind it and the weather before it. */
function outdoors(paintLandscape: (scene: Scene) => Painting) {
  return function* (scene: Scene): Painting {
    yield* paintSky(scene)
    yield* paintLandscape(scene)
    if (scene.motif.subject === 'balloon') drawBalloons(scene)
    drawWeather(scene)
    yield
  }
}

function* paintSea(scene: Scene): Painting {
  const { canvas, horizon, unit, motif } = scene
  const { subject, dice, weather } = motif
  yield* paintMist(scene, horizon, unit * 0.09, 0.55)
  if (subject === 'lighthouse') yield* paintLighthouse(scene)
  else if (dice.named('islands').chance(0.5)) yield* paintMountains(scene, { ranges: 2, nearest: 0.3 })
  const rough = weather.has('waves')
  yield* paintWater(scene, rough ? 0 : 0.25)
  const size = subject === 'boat' ? 0.3 : subject !== 'lighthouse' || dice.named('boats').chance(0.6) ? 0.1 : 0
  const x = canvas.width * opposite(scene, dice.named('boat').between(0.02, 0.2))
  const base = mix(horizon, canvas.height, 0.05 + size * 0.9)
  if (!rough) return drawBoat(scene, { x, base, size: unit * size }, 0.4)
  drawBoat(scene, { x, base: horizon + unit * 0.045, size: unit * size * 0.8 }, 0)
  yield* paintBreakers(scene)
}

function* paintLake(scene: Scene): Painting {
  yield* paintMountains(scene, { ranges: 4, nearest: 0.06 })
  yield* paintMist(scene, scene.horizon - 4, scene.unit * 0.07, 0.5)
  yield* paintWater(scene, 0.85)
}

function* paintValley(scene: Scene): Painting {
  const { canvas, horizon, unit, motif } = scene
  yield* paintMountains(scene, { ranges: 5, nearest: 0.06 })
  yield* paintMist(scene, horizon * 0.93, unit * 0.12, 0.5)
  if (motif.subject === 'castle')
    drawCastle(scene, { x: canvas.width * opposite(scene, 0.16), base: horizon * 0.84, size: unit * 0.34 })
  for (const near of [0.55, 0.8, 1]) {
    const base = mix(horizon * 0.92, canvas.height * 0.97, near ** 1.6)
    yield* paintRow(scene, { near, base, height: unit * mix(0.1, 0.26, near), open: near === 1 ? 0.8 : 0.3 })
  }
}

function* paintWoods(scene: Scene): Painting {
  const { horizon, unit } = scene
  yield* paintMountains({ ...scene, horizon: horizon * 0.86 }, { ranges: 3, nearest: 0.68 })
  yield* paintForest(scene)
  yield* paintMist(scene, horizon * 1.05, unit * 0.16, 0.28)
}

function* paintWaterfront(scene: Scene): Painting {
  yield* paintCity(scene)
  yield* paintWater(scene, 0.7)
}

function drawBalloons(scene: Scene) {
  const { canvas, horizon, unit, motif } = scene
  const draw = motif.dice.named('balloons')
  const count = Math.round(draw.between(3, 6))
  for (let i = 0; i < count; i++) {
    const size = unit * mix(0.09, 0.4, i / (count - 1))
    // Side by side, by turns left and right of the middle; the large ones higher.
    const x = canvas.width * (0.5 + (i % 2 ? 0.38 : -0.38) * draw.between(0.25, 1) * (1 - (0.25 * i) / count))
    drawBalloon(
      scene,
      { x, base: mix(horizon * 0.92, size * 1.08 + horizon * 0.12, (i + 0.5) / count), size },
      draw.between(0, 360),
    )
  }
}
