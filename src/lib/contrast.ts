/** How well two colours can be told apart, as WCAG 2 measures it. Colours are written `#rrggbb`. */

type Channels = readonly [red: number, green: number, blue: number]

const channelsOf = (colour: string): Channels => {
  const value = Number.parseInt(colour.slice(1), 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}

const linear = (channel: number): number => {
  const share = channel / 255
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
}

function luminance(colour: string): number {
  const [red, green, blue] = channelsOf(colour).map(linear) as unknown as Channels
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** From 1, which cannot be told apart, to 21. */
export function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

/** `share` of one colour, 0 to 1, and the rest of the other. */
export function mixed(one: string, share: number, other: string): string {
  const others = channelsOf(other)
  const hex = (channel: number) => Math.round(channel).toString(16).padStart(2, '0')
  return `#${channelsOf(one)
    .map((channel, i) => hex(channel * share + (others[i] as number) * (1 - share)))
    .join('')}`
}
