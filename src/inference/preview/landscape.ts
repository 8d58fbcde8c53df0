import drawings from './drawings.json' with { type: 'json' }
import type { Scene } from './scene.js'
import {
  box,
  channelsOf,
  dice,
  dots,
  faded,
  mix,
  mixed,
  noiseLine,
  type Point,
  placed,
  polygon,
  repeat,
} from './svg.js'

/** What is soft: the colours of the sky, the light around the sun, the clouds. It is rendered small, then enlarged. */
export function softSky(scene: Scene): string {
  const { width, height, horizon, zenith, high, middle, edge, cloud, shade, disc, place, weather, seed, time } = scene
  const draw = dice(seed, 'clouds')
  const area = box(0, 0, width, horizon)
  const many = weather.has('cloudy') || time === 'overcast'
  const amount = 7 * (weather.has('clear') ? 0.42 : many ? draw.between(0.55, 0.6) : draw.between(0.44, 0.54)) - 7
  const streaks = `${draw.between(0.0007, 0.0015)} ${draw.between(0.003, 0.006)}`
  const [frequency, clouds, lowest] =
    place === 'space' || place === 'flower'
      ? ['.0016 .0019', tinted(edge, 3, -1.4, 'thin') + tinted(middle, 4, -2.2, 'thick'), '#cccccc']
      : [streaks, tinted(cloud, 7, amount, 'thin') + tinted(shade, 6, amount * 0.85 - 0.6, 'thick'), '#222222']
  return `${stylesOf(scene)}<path d="${box(0, 0, width, height)}" fill="${edge}"/>
${faded(area, zenith, high, middle, edge)}${place === 'space' ? '' : placed(drawings.halo, disc.x, disc.y, 100)}
${weather.has('aurora') ? placed(drawings.aurora, 0, 0, width, horizon) : ''}
<filter id="clouds" x="0" y="0" width="1" height="1"><feTurbulence type="fractalNoise" baseFrequency="${frequency}"
numOctaves="4" seed="${draw.between(0, 9999)}" result="noise"/>${clouds}<feMerge><feMergeNode in="thin"/><feMergeNode
in="thick"/></feMerge></filter><mask id="high">${faded(area, '#ffffff', '#ffffff', '#cccccc', lowest)}</mask>
<g mask="url(#high)"><path d="${area}" filter="url(#clouds)" opacity=".85"/></g>`
}

/** One colour, the more opaque the stronger the noise is. */
function tinted(colour: string, gain: number, offset: number, result: string): string {
  const rows = channelsOf(colour).map((channel) => `0 0 0 0 ${channel / 255}`)
  return `<feColorMatrix in="noise" result="${result}" color-interpolation-filters="sRGB"
values="${rows.join(' ')} 0 0 0 ${gain} ${offset}"/>`
}

/** What is sharp in the sky: stars, and sun, moon or planet. */
function sharpSky({ width, horizon, seed, stars, detail, disc, light, time, weather, place }: Scene): string {
  const draw = dice(seed, 'stars')
  const anywhere = (): Point => [draw.between(0, width), horizon * draw.between(0, 1) ** 1.3 * 0.95]
  const many = (stars * mix(2000, 3500, detail) * width * horizon) / 1e6
  const moon = draw.pick(['moon', 'moon', 'crescent'] as const)
  const drawing = drawings[place === 'space' ? 'planet' : time === 'night' ? moon : 'sun']
  const hidden = weather.has('rain') || weather.has('snow') || place === 'flower'
  const strength = time === 'overcast' && place !== 'space' ? 0.55 : 1
  return `${[2.2, 3.4, 5.5].map((size) => dots(many / size ** 2.2, size, '#fffaf0bb', anywhere)).join('')}
<g fill="${light}" fill-opacity="${strength}">${hidden ? '' : placed(drawing, disc.x, disc.y, disc.radius)}</g>`
}

/** The whole scene, far things first. `sky` is the rendered soft sky. */
export function landscape(scene: Scene, sky: string): string {
  const { place, subject, land, seed, width, height, horizon, disc, dark, ground, haze, weather } = scene
  const draw = dice(seed, 'landscape')
  const side = disc.x < width / 2 ? 1 : -1
  const x = width / 2 + side * Math.min(width * 0.3, 480) * draw.between(0.3, 0.65)
  const size = side * draw.between(340, 440)
  const wet = place === 'sea' || place === 'lake' || place === 'city'
  const stands = subject && subject !== 'boat' && subject !== 'balloon'
  const standing = (foot: number) => (stands ? placed(drawings[subject], x, foot, size) : '')
  const peaks = (i: number) => {
    const near = i / (land.peaks - 1)
    const far = mix(0.8, 1 - land.clear, near)
    const tall = Math.min(620, horizon * 0.62) * land.high * mix(0.6, 0.25, near)
    return range(scene, 'peaks', horizon - tall * mix(0.3, 0.75, far), tall, far).drawn
  }
  const row = (i: number) => {
    const near = i / (land.rows - 1)
    const [far, tall] = [mix(0.6, 0, near), mix(land.trees[0], land.trees[1], near)]
    const [base, high] = wet ? [horizon, 8] : [mix(horizon, height * 0.93, near ** 1.2), mix(50, 110, near)]
    const hill = range(scene, place === 'desert' ? 'dunes' : 'hills', base, high, far)
    const tree = () => {
      const at = width * (0.5 + draw.pick([-0.5, 0.5]) * draw.between(near > 0.6 ? 0.35 : 0, 1.05))
      const tree = drawings[draw.pick<'pine' | 'bush' | 'block' | 'tower' | 'spire'>(land.kinds)]
      return placed(tree, at, hill.crest(at) + tall * 0.05, tall * draw.between(0.6, 1), tall * draw.between(0.5, 1.15))
    }
    const trees = repeat(tall && (width / tall) * 5, tree)
    const subjectHere = !wet && i === land.rows - 3 ? standing(hill.crest(x) + 8) : ''
    const mist = near < 1 ? fog(scene, hill.crest(x)) : ''
    return `<g fill="${mixed(mixed(dark, ground, 0.25), haze, far)}">${trees}</g>${hill.drawn}${subjectHere}${mist}`
  }
  const balloon = (i: number) => {
    const tall = draw.between(90, 160) * (1 + i / 2)
    const at = width * (0.5 + (i % 2 ? 0.38 : -0.38) * draw.between(0.2, 1))
    return placed(drawings.balloon, at, Math.max(tall + 30, horizon * draw.between(0.3, 0.85)), tall)
  }
  const island = stands && wet ? placed(drawings.island, x, horizon, side * 430) + standing(horizon - 104) : ''
  const above = sky + sharpSky(scene) + repeat(land.peaks, peaks) + repeat(land.rows, row) + island
  const [boatX, sails, near] = subject === 'boat' ? [x, size * 0.8, 0.3] : [width - x, place === 'sea' ? 90 : 0, 0.1]
  const boat = placed(drawings.boat, boatX, weather.has('waves') ? horizon + 40 : mix(horizon, height, near), sails)
  const flower = place === 'flower' ? placed(blossom(), mix(x, width / 2, 0.7), height * 0.45 + 540, size * 2.3) : ''
  const balloons = repeat(subject === 'balloon' ? draw.between(3, 6) : 0, balloon)
  return (wet ? water(scene, above) + boat : above) + balloons + flower + inTheAir(scene)
}

/** Petals as plants place them: each turned by the golden angle, the outermost first. */
function blossom(): string {
  const petal = (i: number) =>
    `<g class="accent" transform="rotate(${i * 137.5}) scale(${0.46 - i / 160})">${drawings.petal}
<g class="light" fill-opacity="${0.6 - i / 90}">${drawings.petal}</g></g>`
  return `${drawings.stem}<g transform="translate(0 -60)">${repeat(54, petal)}<circle class="crown" r="6"/></g>`
}

/** A double exposure: a head and shoulders in profile, and within them a landscape. Nobody in particular. */
export function portrait(scene: Scene, sky: string): string {
  const { width, height, haze, light, seed, subject, daylight } = scene
  const draw = dice(seed, 'portrait')
  const paper = mixed(haze, '#fff6e6', 0.25 + 0.6 * daylight)
  const size = Math.min(900, height * 0.64)
  const [x, foot, side] = [width * draw.between(0.46, 0.54), height * 0.5 + size * 0.5, draw.pick([-1, 1])]
  const here = `transform="translate(${x} ${foot}) scale(${(size / 100) * side} ${size / 100})"`
  const hair = drawings[draw.pick(['longHair', 'bun', 'shortHair'] as const)]
  return `${faded(box(0, 0, width, height), paper, mixed(paper, haze, 0.35))}
<circle cx="${x + side * size * 0.12}" cy="${foot - size * 0.7}" r="${size * 0.5}" fill="${light}8c"/>
<clipPath id="figure"><path ${here} d="${drawings.face}"/><path ${here} d="${hair}"/></clipPath>
<g clip-path="url(#figure)">${landscape({ ...scene, subject: undefined }, sky)}
${faded(box(0, foot - size * 0.15, width, height), `${paper}00`, `${paper}ff`, `${paper}ff`)}</g>
${subject === 'crown' ? `<g ${here}>${drawings.crown}</g>` : ''}`
}

/** Land or waves from edge to edge: the drawing, and the height of its crest at each x. */
function range(scene: Scene, kind: 'peaks' | 'hills' | 'dunes' | 'waves', base: number, tall: number, far: number) {
  const { seed, disc, width, height, dark, ground, haze, light, detail, weather, cloud } = scene
  const draw = dice(seed, kind, Math.round(base))
  const [peaks, hills] = [kind === 'peaks', kind === 'hills']
  const noise = noiseLine(draw, peaks ? 2 + Math.round(3 * detail) : hills ? 2 : 1, peaks ? 'angular' : 'round')
  const folded = (value: number) => (peaks || hills ? value : 1 - 2 * Math.abs(value))
  const crest = (x: number) => base - tall * folded(noise(x / (peaks ? 80 + tall * 0.65 : tall * 5.5)))
  const points = Array.from({ length: 200 }, (_, i) => mix(-9, width + 9, i / 199)).map((x): Point => [x, crest(x)])
  const below = (thick: (x: number, y: number) => number) =>
    polygon([...points, ...points.map(([x, y]): Point => [x, y + thick(x, y)]).reverse()])
  const [near, low] = peaks ? [mixed(dark, ground, 0.3), haze] : [mixed(ground, light, 0.14), mixed(ground, dark, 0.4)]
  const foot = peaks ? mixed(mixed(near, haze, far), haze, 0.7) : mixed(low, haze, far * 0.85)
  const depth = tall * 1.4 + (peaks ? 60 : Math.max(260, height * 0.18))
  const rest = (_: number, y: number) => base + depth - y
  const body = faded(below(rest), mixed(near, haze, far), foot)
  const snowy = peaks && far > 0.3 && (weather.has('snow') || dice(seed, 'snow').pick([true, false]))
  const cap = (_: number, y: number) => Math.max(0, base - tall * 0.15 - y) * draw.between(0.3, 0.75)
  const snow = `<path d="${snowy ? below(cap) : ''}" fill="${mixed(mixed('#ffffff', cloud, 0.4), haze, far * 0.6)}"/>`
  // A slope is in the shade where it is lower than the place a little nearer to the light.
  const [nearer, steep] = peaks ? [90, 3.5] : [tall * 1.5, 5]
  const fall = (x: number, y: number) => y - crest(x + (disc.x < width / 2 ? -nearer : nearer))
  const slope = (x: number, y: number) => Math.max(0, fall(x, y)) * steep * (peaks ? draw.between(0.8, 1.2) : 1)
  const shade = mixed(dark, haze, far * 0.85)
  return { crest, drawn: body + snow + (hills ? '' : faded(below(slope), `${shade}90`, `${shade}00`)) }
}

/** The scene above the water and its reflection, with ripples, the glitter of sun or moon, and waves in a storm. */
function water(scene: Scene, above: string): string {
  const { width, height, horizon, seed, disc, dark, haze, light, zenith, edge, weather } = scene
  const draw = dice(seed, 'water')
  const [deep, area] = [mixed(dark, zenith, 0.5), box(0, horizon, width, height - horizon)]
  const ripples = (count: number, middle: number, spread: number) =>
    repeat(count, (i) => {
      const near = (i + draw.between(0, 1)) / count
      const [x, y] = [middle + draw.between(-1, 1) * spread * (0.35 + near), mix(horizon + 5, height, near ** 1.6)]
      return placed(drawings.ripple, x, y, mix(25, 150, near) * draw.between(0.4, 1), mix(1, 6, near))
    })
  const wave = (i: number) => {
    const base = mix(horizon + 40, height * 0.97, (i / 5) ** 1.3)
    return range(scene, 'waves', base, mix(14, 60, i / 5), mix(0.3, 0, i / 5)).drawn
  }
  return `<g id="above">${above}</g>${faded(area, edge, deep)}<clipPath id="water"><path d="${area}"/></clipPath>
<g clip-path="url(#water)"><use href="#above" transform="matrix(1 0 0 -1 0 ${2 * horizon})"/></g>
${faded(area, `${haze}88`, `${deep}33`, `${deep}bb`)}
<g fill="${edge}2a">${ripples(width / 16, width / 2, width / 2)}</g>
<g fill="${light}b0">${ripples(weather.has('rain') ? 0 : 36, disc.x, disc.radius)}</g>
${repeat(weather.has('waves') ? 6 : 0, wave)}`
}

const fog = ({ width, haze, weather }: Scene, y: number) =>
  faded(box(0, y - 160, width, 330), `${haze}00`, `${haze}${weather.has('fog') ? 'aa' : '44'}`, `${haze}00`)

function inTheAir(scene: Scene): string {
  const { width, height, horizon, seed, weather, detail, dark, cloud } = scene
  const draw = dice(seed, 'air')
  const many = (count: number) => (count * width * height * mix(0.5, 1, detail)) / 1e6
  const anywhere = (): Point => [draw.between(-50, width), draw.between(-50, height)]
  const rain = () => `M${anywhere().join(' ')}l-9 ${draw.between(30, 62)}`
  const snow = (size: number) => dots(weather.has('snow') ? many(900 / size) : 0, size, '#ffffffdd', anywhere)
  const [x, y] = [width * draw.between(0.3, 0.7), horizon * draw.between(0.25, 0.55)]
  const bird = () => placed(drawings.bird, x + draw.between(-190, 190), y + draw.between(-90, 90), draw.between(9, 20))
  return `<g fill="${dark}cc">${repeat(weather.has('birds') ? 8 : 0, bird)}</g>${[4, 7, 12].map(snow).join('')}
<path d="${repeat(weather.has('rain') ? many(420) : 0, rain)}" stroke="${cloud}" stroke-width="1.6" opacity=".4"/>
${weather.has('fog') ? fog(scene, horizon - 60) : ''}`
}

/** The colours of the drawings' classes. */
export function stylesOf({ dark, light, haze, lamps, daylight, accent }: Scene): string {
  const shown = (colour: string) => mixed(mixed(dark, colour, 0.25 + 0.7 * daylight), haze, 0.08)
  const lamp = lamps > 0.2 ? '#ffdc90' : mixed(dark, '#8fb4c8', 0.4)
  return `${drawings.glow}<style>.light{fill:${light};stop-color:${light}}.dark{fill:${dark}}.crown{fill:#f5bd42}
.bright{fill:${light}44}.shade{fill:${dark}44}.far{fill:${mixed(dark, haze, 0.15)}}.wall{fill:${shown('#fff4e4')}}
.roof{fill:${shown('#d9483b')}}.wood{fill:${shown('#a8683c')}}.accent{fill:${shown(accent)}}.lamp{fill:${lamp}}
.glow{fill:url(#glow);fill-opacity:${lamps ** 3}}.leaf{fill:${mixed(dark, accent, 0.1 + 0.4 * daylight)}}
.ring{fill:none;stroke:${mixed(light, accent, 0.3)};stroke-width:22}.lit{fill:none;stroke-width:2.6;
stroke:#ffd98a${lamps > 0.2 ? 'e0' : '50'};stroke-dasharray:3 3 3 9 3 3 3 21 3 9}</style>`
}
