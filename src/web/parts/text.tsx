import { isEndOfDay } from '../../lib/moments.js'
import { en, type Texts, useTexts } from '../texts/texts.js'

/** In English, for the console. */
export const { number, money } = en

/** `1 credit`, `1,200 credits`; for the console. */
export const counted = (count: number, noun: string): string => `${number(count)} ${noun}${count === 1 ? '' : 's'}`

/** A page's address with these parameters; without those that are empty. */
export function address(path: string, params: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(params).flatMap(([name, value]) => (value ? [[name, String(value)]] : []))
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}

/** A moment in UTC, which easel.js shows in the reader's time zone. */
export const Moment = ({ at, only }: { at: Date; only?: 'date' }) => {
  const { date, time } = useTexts()
  return (
    <time datetime={at.toISOString()} data-local={only ?? 'time'}>
      {only ? date(at) : time(at)}
    </time>
  )
}

/** When something ends. A whole day is one in UTC for every reader, as in the form that set it. */
export const End = ({ at }: { at: Date }) => {
  const { date } = useTexts()
  return isEndOfDay(at) ? <time datetime={at.toISOString()}>{date(at)}</time> : <Moment at={at} />
}

// The first that fits: many browsers also name those that they resemble.
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\b(OPR|Opera)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Chrome|Chromium|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Macintosh|Mac OS X/, 'Mac'],
  [/CrOS/, 'ChromeOS'],
  [/Linux|X11/, 'Linux'],
]

/** A browser in plain words, from what it calls itself. */
export function browserName(userAgent: string | null, { parts }: Pick<Texts, 'parts'>): string {
  const name = (of: typeof BROWSERS) => of.find(([pattern]) => pattern.test(userAgent ?? ''))?.[1]
  const browser = name(BROWSERS) ?? parts.browser.unknown
  const system = name(SYSTEMS)
  return system ? parts.browser.on(browser, system) : browser
}
