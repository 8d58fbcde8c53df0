import { ConfigError } from './environment.js'

interface Given {
  readonly SIGN_UP: 'open' | 'provider' | 'closed'
  readonly PASSWORD_SIGN_IN: 'on' | 'off'
  readonly SMTP_URL?: string | undefined
  readonly OIDC_ISSUER?: string | undefined
  readonly OIDC_OPERATOR_GROUP?: string | undefined
  readonly ARCHIVE_MONTHS?: number | undefined
  readonly LIVE_MONTHS?: number | undefined
}

/** Of settings that are each right, but not beside each other. @throws ConfigError */
export function requireFitting(v: Given): void {
  const hasProvider = v.OIDC_ISSUER !== undefined
  if (v.SIGN_UP === 'provider' && !hasProvider)
    throw new ConfigError('SIGN_UP=provider works with an identity provider only: set OIDC_ISSUER, too')
  if (v.OIDC_OPERATOR_GROUP !== undefined && !hasProvider)
    throw new ConfigError(
      'OIDC_OPERATOR_GROUP works with an identity provider only: set OIDC_ISSUER, too, or leave it out',
    )
  if (v.PASSWORD_SIGN_IN === 'off') {
    if (!hasProvider && v.SMTP_URL === undefined)
      throw new ConfigError(
        'PASSWORD_SIGN_IN=off leaves no way to sign in: set OIDC_ISSUER or SMTP_URL, too, or leave it out',
      )
    if (v.SIGN_UP === 'open')
      throw new ConfigError(
        'SIGN_UP=open lets people choose a password: with PASSWORD_SIGN_IN=off, set SIGN_UP to provider or closed',
      )
  }
  if (v.ARCHIVE_MONTHS !== undefined && v.ARCHIVE_MONTHS <= (v.LIVE_MONTHS ?? Number.POSITIVE_INFINITY))
    throw new ConfigError(
      'ARCHIVE_MONTHS archives what has moved to its month: set LIVE_MONTHS, too, to a lower number',
    )
}
