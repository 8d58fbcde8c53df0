import { z } from 'zod'

/** A path of this site, else the playground: an open redirect would lend our name to others. */
export const nextPath = z
  .string()
  .catch('')
  .transform((path) => (/^\/(?![/\\])[^\s\\]*$/.test(path) && !path.startsWith('/sign-in') ? path : '/playground'))
