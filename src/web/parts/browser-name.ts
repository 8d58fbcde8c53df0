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
export function browserName(userAgent: string | null): string {
  const name = (of: typeof BROWSERS) => of.find(([pattern]) => pattern.test(userAgent ?? ''))?.[1]
  const browser = name(BROWSERS) ?? 'Unknown browser'
  const system = name(SYSTEMS)
  return system ? `${browser} on ${system}` : browser
}
