import { contrast, mixed } from '../../lib/contrast.js'
import { assetText } from './assets.js'

/** A colour as `#rrggbb`, in the light and the dark scheme; as the accent that of links, what is chosen and main buttons. */
export interface Accent {
  readonly light: string
  readonly dark: string
}

const SCHEMES = ['light', 'dark'] as const
/** What WCAG 2.2 asks of text, and of what shows where a control is or what it does. */
const TEXT = 4.5
const CONTROL = 3

/** Where links are read, and what shows the accent itself, by the name of the colour in base.css. */
const BEHIND = [
  ['paper', 'the background of pages', TEXT],
  ['card', 'cards', TEXT],
  ['well', 'the background of code', TEXT],
  ['bad-tint', 'the background of errors', TEXT],
  ['line', 'the bar of progress', CONTROL],
] as const

/** The colours of a sheet that differ between light and dark, by their names. */
export const paletteIn = (css: string): ReadonlyMap<string, Accent> =>
  new Map(
    [...css.matchAll(/--([\w-]+):\s*light-dark\((#\w{6}),\s*(#\w{6})\)/g)].map(
      ([, name = '', light = '', dark = '']) => [name, { light, dark }],
    ),
  )

const palette = paletteIn(assetText('base.css'))

/** @throws Error if base.css has no such colour */
function colourOf(name: string, scheme: (typeof SCHEMES)[number]): string {
  const colour = palette.get(name)
  if (!colour) throw new Error(`base.css has no --${name} for light and dark`)
  return colour[scheme]
}

/** What else follows from it: the background of what is chosen, and the text on the accent. */
const coloursOf = (accent: string, scheme: (typeof SCHEMES)[number]) => ({
  tint: mixed(accent, 0.1, colourOf('card', scheme)),
  onAccent: colourOf(scheme === 'light' ? 'card' : 'paper', scheme),
})

/** Where an accent cannot be told apart from what is behind it: for each scheme the worst, as `[scheme, what is wrong]`. */
export function accentFaults(accent: Accent): [scheme: string, problem: string][] {
  return SCHEMES.flatMap((scheme): [string, string][] => {
    const own = accent[scheme]
    const { tint, onAccent } = coloursOf(own, scheme)
    const uses = [
      ...BEHIND.map(([name, what, needed]) => ({ colour: colourOf(name, scheme), what, needed })),
      { colour: mixed(colourOf('good', scheme), 0.12, colourOf('card', scheme)), what: 'messages', needed: TEXT },
      { colour: tint, what: 'the background of what is chosen', needed: TEXT },
      { colour: onAccent, what: 'the text of buttons', needed: TEXT },
    ].map((use) => ({ ...use, has: contrast(own, use.colour) }))
    const [worst] = uses.filter(({ has, needed }) => has < needed).sort((a, b) => a.has / a.needed - b.has / b.needed)
    if (!worst) return []
    const { colour, what, needed, has } = worst
    // Rounded down: 4.49 must not read as enough.
    const ratio = (Math.floor(has * 100) / 100).toFixed(2)
    const sentence = `${own} has a contrast of ${ratio}:1 to ${what} (${colour}), which needs ${needed}:1; take a ${scheme === 'light' ? 'darker' : 'lighter'} colour`
    return [[scheme, sentence]]
  })
}

/** The style sheet that replaces the colours of base.css. */
export function accentSheet(accent: Accent): string {
  const [light, dark] = SCHEMES.map((scheme) => coloursOf(accent[scheme], scheme)) as [Colours, Colours]
  const both = (name: string, one: string, other: string) => `--${name}:light-dark(${one},${other})`
  const colours = [
    both('accent', accent.light, accent.dark),
    both('on-accent', light.onAccent, dark.onAccent),
    both('tint', light.tint, dark.tint),
    '--mark:var(--accent)',
  ]
  return `@layer base{:root{${colours.join(';')}}}`
}

type Colours = ReturnType<typeof coloursOf>
