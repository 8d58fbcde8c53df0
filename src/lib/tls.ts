/** TLS to Postgres and Redis: how their URLs ask for it, in Postgres's words, and why it fails. */
import { readFileSync } from 'node:fs'
import { type ConnectionOptions, createSecureContext, type PeerCertificate } from 'node:tls'
import { type Cause, causesOf } from './causes.js'

/** `prefer` and the three behind it all mean `verify-full` here; `no-verify` encrypts and checks nothing. */
export const TLS_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']
const FILES = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' } as const
const KNOWN = ['sslmode', ...Object.keys(FILES), 'ssl', 'sslnegotiation']

type Files = Pick<ConnectionOptions, 'ca' | 'cert' | 'key'>

/** What is wrong with the parameters of a URL, as the rest of a sentence that begins with its variable. */
export function tlsProblem(url: string): string | undefined {
  const { searchParams } = new URL(url)
  const unknown = [...searchParams.keys()].find((name) => /^(ssl|tls)/i.test(name) && !KNOWN.includes(name))
  if (unknown) return `has the unknown parameter "${unknown}"; TLS has sslmode, sslrootcert, sslcert and sslkey`
  const mode = searchParams.getAll('sslmode').find((it) => !TLS_MODES.includes(it))
  if (mode !== undefined) return `has the unknown sslmode "${mode}"; use ${TLS_MODES.join(', ')}`
  for (const name of Object.keys(FILES)) {
    const path = searchParams.get(name)
    try {
      if (path !== null && !readFileSync(path).includes('-----BEGIN '))
        return `names ${name}=${path}, which is no file in PEM form`
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      return `names ${name}=${path}, which can't be read (${code}); correct the path, or let this user read the file`
    }
  }
  try {
    createSecureContext(filesOf(searchParams))
    return undefined
  } catch (error) {
    return `names a certificate or key that can't be used (${(error as Error).message})`
  }
}

const filesOf = (given: URLSearchParams): Files =>
  Object.fromEntries(
    Object.entries(FILES).flatMap(([name, option]) => {
      const path = given.get(name)
      return path === null ? [] : [[option, readFileSync(path)]]
    }),
  )

/** What the parameters of a URL say, as Node's options. */
export const tlsOptions = (given: URLSearchParams): ConnectionOptions => ({
  ...filesOf(given),
  ...(given.get('sslmode') === 'no-verify' && { rejectUnauthorized: false }),
})

const UNKNOWN_AUTHORITY =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(GET_ISSUER_CERT(_LOCALLY)?|VERIFY_LEAF_SIGNATURE)|CERT_(UNTRUSTED|SIGNATURE_FAILURE)|INVALID_CA)$/

/**
 * Why a server's TLS was refused, or ours by it, and what to do about it.
 * @param server its name for people @param variable the one whose URL leads to it
 * @param namedBy who named a host; undefined: the URL
 */
export function tlsRefusal(
  error: unknown,
  server: string,
  variable: string,
  namedBy: (host: string | undefined) => NamedBy | undefined = () => undefined,
): string | undefined {
  for (const cause of causesOf(error)) {
    const sentence = sentenceFor(cause, server, variable, namedBy)
    if (sentence) return sentence
  }
  return undefined
}

/** Who told where a server is, and how to have them tell a name of its certificate. */
export interface NamedBy {
  readonly who: string
  readonly mend: string
}

function sentenceFor(
  { code = '', message, thrown }: Cause,
  server: string,
  variable: string,
  namedBy: (host: string | undefined) => NamedBy | undefined,
): string | undefined {
  if (UNKNOWN_AUTHORITY.test(code))
    return `The certificate of ${server} was not signed by an authority that is known here (${code}): add sslrootcert=/path/to/ca.pem to ${variable}, with the certificate of the authority, or the server's own if it signed itself, or, in a network that only you use, sslmode=no-verify, which checks none.`
  if (code === 'CERT_HAS_EXPIRED')
    return `The certificate of ${server}, or of its authority, has expired: renew it there, or set the clock of this machine.`
  if (code === 'CERT_NOT_YET_VALID')
    return `The certificate of ${server} is not valid yet: set the clock of this machine, or of the one that made it.`
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const { host, cert } = thrown as { readonly host?: string; readonly cert?: PeerCertificate }
    const names = cert?.subjectaltname ?? cert?.subject.CN ?? 'another host'
    const other = namedBy(host)
    if (other)
      return `The certificate of ${server} is for ${names} and not for ${host}, as ${other.who} call it: ${other.mend}, or give ${server} a certificate for this one.`
    return `The certificate of ${server} is for ${names} and not for ${host}: write a host that it names into ${variable}, or give ${server} a certificate for this one.`
  }
  if (message === 'The server does not support SSL connections' || code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return noTls(server, variable)
  if (/^(EPROTO$|ERR_SSL_|ERR_TLS_|CERT_|CRL_)/.test(code))
    return `${server} and Easel found no TLS that both take (${code}): see which versions and client certificates it wants; sslcert and sslkey in ${variable} name one.`
  return undefined
}

export const noTls = (server: string, variable: string) =>
  `${server} has no TLS where ${variable} leads: turn it on there, or leave it out of ${variable} in a network that only you use.`
