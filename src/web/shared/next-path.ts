import { z } from 'zod'

/** A path of this site, else the playground: an open redirect would lend our name to others. Headers hold ASCII only. */
export const nextPath = z
  .string()
  .catch('')
  .transform((path) => (/^\/(?!\/)[!-[\]-~]*$/.test(path) && !path.startsWith('/sign-in') ? path : '/playground'))
