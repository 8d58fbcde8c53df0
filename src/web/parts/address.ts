/** A page's address with these parameters; without those that are empty. */
export function address(path: string, params: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(params).flatMap(([name, value]) => (value ? [[name, String(value)]] : []))
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}
