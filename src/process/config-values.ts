/** Schemas of environment variables; each message says what to write instead. */
import { z } from 'zod'
import { hostsIn, hostsProblem, maySettleOnStandby, withHostInPlace } from '../db/hosts.js'
import { storageUrlProblem } from '../images/storage.js'
import { DEFAULT_PATH as OPENAI_PATH } from '../inference/openai/declaration.js'
import { SERVER_KINDS, serverEntries } from '../inference/server-kinds.js'
import { tlsProblem } from '../lib/tls.js'
import { withSocketInPlace } from '../redis/socket.js'
import { LANGUAGES } from '../web/texts/texts.js'

export const flag = z.enum(['true', 'false'], 'must be true or false').transform((text) => text === 'true')

export const wholeNumber = (min: number, max: number) => {
  const message = `must be a whole number from ${min} to ${max}`
  return z
    .string()
    .regex(/^\d+$/, message)
    .transform(Number)
    .pipe(z.number(message).min(min, message).max(max, message))
}

const plainHttpUrl = z.string().refine(
  (text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined
    const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:'
    // In https://https://host the host would be "https".
    const hasOneScheme = !/^\/\/[^/]/.test(url?.pathname ?? '')
    return isHttp && hasOneScheme && !/[?#]/.test(text) && !url.username && !url.password
  },
  {
    message: 'must be an http:// or https:// URL without query or password, like https://easel.example',
    abort: true,
  },
)

/** Control and formatting characters would change how what stands around it is read. */
const NAME = 'must have 1 to 40 characters, in one line'
export const siteName = z
  .string(NAME)
  .trim()
  .regex(/^[^\p{C}\p{Zl}\p{Zp}]{1,40}$/u, NAME)

const SENDER = /^(?:("?)([^<>"@\p{Cc}]{1,100}?)\1\s*<([^<>\s@]+@[^<>\s@]+)>|([^<>\s@]+@[^<>\s@]+))$/u

/** A mail address with or without a name, which may have signs that mean something in a header, such as a comma. */
export const mailSender = z
  .string()
  .trim()
  .regex(SENDER, 'must be a mail address, like easel@example.com or Easel <easel@example.com>')
  .transform((text) => {
    const [, , name = '', named, bare = ''] = SENDER.exec(text) ?? []
    return { name: name.trim(), address: named ?? bare }
  })

export const httpUrl = plainHttpUrl.transform((text) => text.replace(/\/+$/, ''))

/** Pages, cookies and the paths of the interfaces begin at the root of their host. */
export const httpOrigin = plainHttpUrl
  .refine(
    (text) => /^\/*$/.test(new URL(text).pathname),
    'must be an origin without a path, like https://easel.example: Easel needs a host name (or port) of its own, to which the proxy passes all paths',
  )
  .transform((text) => new URL(text).origin)

export const urlWith = (one: string, other: string) => {
  // Without them, as in redis:6379, it would name no host, and lead to this machine.
  const isOf = (text: string) => [one, other].some((scheme) => text.toLowerCase().startsWith(`${scheme}//`))
  return z
    .string()
    .refine((text) => isOf(text) && URL.canParse(text), {
      error: ({ input }) =>
        isOf(String(input))
          ? `can't be read: write it like ${one}//user:password@HOST:PORT, and in the password / as %2F, # as %23 and ? as %3F`
          : `must be a URL that begins with ${one}// or ${other}//`,
      abort: true,
    })
    .refine((text) => canDecode(new URL(text).username) && canDecode(new URL(text).password), {
      message: 'has a % in its user or password that stands for nothing: write it as %25',
      abort: true,
    })
}

function canDecode(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** A URL whose parameters say what TLS should be. */
const withTls = (url: ReturnType<typeof urlWith>) =>
  url.superRefine((text, context) => {
    const message = tlsProblem(text)
    if (message) context.addIssue({ code: 'custom', message })
  })

const postgresHost = withTls(urlWith('postgres:', 'postgresql:'))

/** A user without a host, and no directory of a socket that would be the host. */
const WITHOUT_HOST = /^postgres(?:ql)?:\/\/[^/?#]*@(?::\d*)?(?:[/?]|$)/

export const postgresUrl = z
  .string()
  .transform(withHostInPlace)
  .refine((text) => !WITHOUT_HOST.test(text), {
    message:
      'names no host: write postgres://user:password@HOST:5432/easel, or for a Unix socket postgres://user:password@/easel?host=/DIRECTORY',
    abort: true,
  })
  .superRefine((text, context) => {
    const [first] = hostsIn(text).urls
    const message = hostsProblem(text) ?? postgresHost.safeParse(first).error?.issues[0]?.message
    if (message) context.addIssue({ code: 'custom', message })
  })
  // pg takes these for verify-full, too, but prints a warning of its own.
  .transform((text) => text.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full'))

export const primaryUrl = postgresUrl.refine(
  (text) => !maySettleOnStandby(text),
  'must say ?target_session_attrs=read-write where it names several hosts, so that no connection leads to a standby',
)

const SENTINEL_PARAMETERS = ['sentinel_username', 'sentinel_password', 'sentinel_tls']

const hasTls = (url: string): boolean =>
  new URL(url).protocol === 'rediss:' || new URL(url).searchParams.get('sentinel_tls') === 'true'

const redisServer = withTls(urlWith('redis:', 'rediss:'))
  .refine(
    (text) => !(hasTls(text) ? /[?&]sslmode=disable/ : /[?&]ssl/).test(text),
    'must begin with rediss:// for TLS, and with redis:// and no parameter of TLS to do without',
  )
  .refine(
    (text) =>
      (new URL(text).searchParams.get('sentinels') ?? 'none').split(',').every((it) => URL.canParse(`http://${it}`)),
    'must name its sentinels as ?sentinels=HOST:PORT,HOST:PORT',
  )
  .refine(
    (text) => !/^[^?]*\?(?:.*&)?sentinels=[^&]*(?:@|%40)/i.test(text),
    'must name the login of its sentinels as &sentinel_username=USER&sentinel_password=PASSWORD',
  )
  .refine(
    (text) =>
      [...new URL(text).searchParams].every(
        ([name, value]) =>
          !/^sentinel(?!s$)/i.test(name) ||
          ((name !== 'sentinel_tls' || /^(true|false)$/.test(value)) &&
            SENTINEL_PARAMETERS.includes(name) &&
            new URL(text).searchParams.has('sentinels')),
      ),
    'may say sentinel_username=USER, sentinel_password=PASSWORD and sentinel_tls=true or false of its sentinels, behind ?sentinels=HOST:PORT',
  )
  .refine(
    (text) =>
      (new URL(text).searchParams.get('cluster') || 'none').split(',').every((it) => URL.canParse(`http://${it}`)),
    'must name the other nodes of the cluster as ?cluster=HOST:PORT,HOST:PORT',
  )
  .refine(
    (text) => !new URL(text).searchParams.has('cluster') || /^\/?0?$/.test(new URL(text).pathname),
    'must end without the number of a database, as a cluster has only one',
  )
  .refine(
    (text) => /^\/?\d{0,9}$/.test(new URL(text).pathname),
    'must end with the number of a database or without one, like redis://host:6379/0',
  )

export const redisUrl = z.string().transform(withSocketInPlace).pipe(redisServer)

export const webUrl = urlWith('http:', 'https:')

/** fetch refuses a URL with a password, and its error repeats the password. */
export const urlWithoutPassword = (variable: string) =>
  webUrl.refine(
    (text) => !(new URL(text).username || new URL(text).password),
    `must hold no user name or password: put the key into ${variable}`,
  )

export const storageUrl = z.string().superRefine((url, context) => {
  const problem = storageUrlProblem(url)
  if (problem) context.addIssue({ code: 'custom', message: problem })
})

/** Comma-separated; blanks around an entry and empty entries don't count. */
const list = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)

const LANGUAGES_HINT = `must be one or more of ${LANGUAGES.join(', ')}, with commas between them`

/** The languages of the website, the usual one first. */
export const languages = z
  .string()
  .default('en')
  .transform((text) => [...new Set(text.split(',').map((it) => it.trim().toLowerCase()))])
  .pipe(z.array(z.enum(LANGUAGES, LANGUAGES_HINT)))

/** Addresses and networks, with commas between them. `none` is the default; as an entry it adds nothing. */
export const networks = (none: string, message: string) =>
  z
    .string()
    .default(none)
    .transform((text) => list(text).filter((entry) => entry !== none))
    .pipe(z.array(z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()], message)))

/** As browsers write an origin in their Origin header: in lower case, without a default port. Undefined: not an origin. */
function originOf(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isOrigin =
    url?.host && !url.host.includes('*') && /^\/?$/.test(url.pathname + url.search + url.hash + url.username)
  // Not url.origin, which is "null" for desktop programs, such as vscode-webview://id.
  return isOrigin ? `${url.protocol}//${url.host}` : undefined
}

export const origins = z
  .string()
  .default('')
  .transform((text) => list(text).map(originOf))
  .pipe(z.array(z.string('must be origins, like https://app.example,http://localhost:6274')))

const BACKEND_SCHEMES = ['preview', ...SERVER_KINDS.flatMap((kind) => [`${kind}+http`, `${kind}+https`])]

/** Says what is wrong with an entry of INFERENCE_URL. */
function checkBackend(entry: string, context: z.RefinementCtx): void {
  const refuse = (message: string) => context.addIssue({ code: 'custom', message })
  const scheme = /^([a-z0-9+]+):/.exec(entry)?.[1]
  if (!scheme) refuse('has an entry without a scheme; write each like preview: or a1111+http://host:7860')
  else if (scheme === 'http' || scheme === 'https')
    refuse(
      `has an entry that does not say what kind of server it is; write ${serverEntries(scheme)} ("easel backend check ${scheme}://…" finds out which)`,
    )
  else if (!BACKEND_SCHEMES.includes(scheme))
    refuse(`has an entry with the unknown scheme "${scheme}"; use ${BACKEND_SCHEMES.join(', ')}`)
  else if (scheme !== 'preview' && !URL.canParse(entry.slice(entry.indexOf('+') + 1)))
    refuse('has an entry without a host; write it like a1111+http://host:7860')
}

/** The server that an entry of INFERENCE_URL leads to: without kind, password, options, last slash and default path. */
function serverOf(entry: string): string {
  const url = entry.slice(entry.indexOf('+') + 1)
  if (!URL.canParse(url)) return entry
  const { origin, pathname } = new URL(url)
  if (origin === 'null') return entry
  const path = pathname.replace(/\/+$/, '')
  return entry.startsWith('openai+') && path === OPENAI_PATH ? origin : origin + path
}

export const backendUrls = z
  .string()
  .default('preview:')
  .transform(list)
  .pipe(
    z
      .array(z.string().superRefine(checkBackend))
      .min(1, 'must name at least one backend, like preview:')
      // A server does one inference at a time, so it may be named once, however its entries differ otherwise.
      .refine((urls) => new Set(urls.map(serverOf)).size === urls.length, 'must name each GPU server only once'),
  )

/**
 * Kept as it is: some issuers end with a slash. Only the loopback address may do without https: an attacker in
 * the network could sign in as anybody.
 */
export const issuerUrl = plainHttpUrl.refine((text) => {
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
}, 'must begin with https://, except on localhost')

const TRACES = '/v1/traces'

/** Where traces are sent. The endpoint of all signals has none of their paths, though many write it. */
export function tracesUrl(variables: {
  readonly OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string | undefined
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined
}): string | undefined {
  const all = variables.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/+$/, '')
  return variables.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? (all?.endsWith(TRACES) ? all : all && all + TRACES)
}
