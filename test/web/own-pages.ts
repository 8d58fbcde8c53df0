const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)

/** The pages for who is signed in, the operators' among them, by address. */
export const OWN_PAGES = [
  '/playground',
  '/gallery',
  '/keys',
  '/account',
  '/account/delete',
  '/account/deleted',
  '/welcome',
  '/usage',
  '/webhooks',
  '/operator',
  '/operator/models',
  '/operator/models/import',
  '/operator/plans',
  '/operator/payments',
  '/operator/users',
  '/operator/images',
  '/operator/reports',
  '/operator/api',
  '/operator/figures',
  `/operator/figures?from=${daysAgo(61)}`,
  `/operator/figures?from=${daysAgo(364)}`,
  `/usage?from=${daysAgo(364)}`,
  '/pricing',
  '/docs',
]
