const SOCKET = /^(?:(?:redis\+)?unix:\/\/(?:(?<login>[^/?#]*)@)?|(?=\/))(?<path>\/[^?#]+)(?:\?(?<query>.*))?$/s

/**
 * Writes the URL of a Unix socket, `unix://:PASSWORD@/run/redis.sock?db=1`, with `redis+unix:`, or its bare path, as one of
 * `redis:` with `?socket=`, which all of its readers understand; any other is left as it is. WHATWG's URL takes no login without a host.
 */
export function withSocketInPlace(url: string): string {
  const { login, path, query } = SOCKET.exec(url)?.groups ?? {}
  if (path === undefined) return url
  const given = new URLSearchParams(query)
  const [user, password] = ['username', 'password'].map((name) => encodeURIComponent(given.get(name) ?? ''))
  const known = login || (password && `${user}:${password}`)
  const others = [...given].filter(([name]) => !['db', 'username', 'password'].includes(name))
  const parameters = new URLSearchParams([['socket', path], ...others])
  return `redis://${known ? `${known}@` : ''}localhost/${given.get('db') ?? ''}?${parameters}`
}

/** How to reach the socket that a URL names; nothing, if it names none. */
export function throughSocket(url: string): { readonly path?: string } {
  const path = new URL(url).searchParams.get('socket')
  return path === null ? {} : { path }
}
