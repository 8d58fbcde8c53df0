import { z } from 'zod'
import { MAX_RETAINED_DAYS } from '../core/accounts/plan.js'
import { namesBucket, storageName, storageOf } from '../images/storage.js'
import { TLS_MODES } from '../lib/tls.js'
import {
  backendUrls,
  flag,
  httpOrigin,
  httpUrl,
  issuerUrl,
  languages,
  mailSender,
  networks,
  origins,
  postgresUrl,
  primaryUrl,
  redisUrl,
  siteName,
  storageUrl,
  tracesUrl,
  urlWith,
  urlWithoutPassword,
  webUrl,
  wholeNumber,
} from './config-values.js'
import { ConfigError, readEnvironment } from './environment.js'
import { requireFitting } from './fitting-settings.js'
import { NAMESPACE } from './namespace.js'

export { ConfigError }

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

const variables = z.object({
  DATABASE_URL: primaryUrl,
  DATABASE_LISTEN_URL: primaryUrl.optional(),
  DATABASE_READ_URL: postgresUrl.optional(),
  APP_DATABASE_URL: postgresUrl.optional(),
  /** Read by pg itself, where a URL says nothing. */
  PGSSLMODE: z.enum(TLS_MODES, `must be one of ${TLS_MODES.join(', ')}`).optional(),
  REDIS_URL: redisUrl.optional(),
  REDIS_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,40}$/, 'must be 1 to 40 letters, digits, dots, hyphens or underscores')
    .default(NAMESPACE),
  HOST: z.string().default('127.0.0.1'),
  PORT: wholeNumber(1, 65535).default(3000),
  METRICS_PORT: wholeNumber(1, 65535).optional(),
  BASE_URL: httpOrigin.optional(),
  API_BASE_URL: httpOrigin.optional(),
  STORAGE_URL: storageUrl.default('file:.easel/images'),
  STORAGE_OLD_URL: storageUrl.optional(),
  STORAGE_ANY_OWNER: flag.default(false),
  S3_ENDPOINT: httpUrl.optional(),
  S3_REGION: z.string().optional(),
  S3_ACCESS_KEY_ID: z.string().optional(),
  S3_SECRET_ACCESS_KEY: z.string().optional(),
  S3_FORCE_PATH_STYLE: flag.optional(),
  UPLOAD_VIA: z.enum(['direct', 'server'], 'must be direct or server').default('direct'),
  UPLOAD_SECRET: z.string().min(32, 'must have at least 32 characters').optional(),
  CDN_BASE_URL: httpUrl.optional(),
  CDN_PURGE_URL: webUrl.optional(),
  INFERENCE_URL: backendUrls,
  INFERENCE_TIMEOUT_SECONDS: wholeNumber(1, 86400).default(300),
  GENERATION_DEADLINE_SECONDS: wholeNumber(1, 604800).default(3600),
  AFFINITY_MAX_DELAY_SECONDS: wholeNumber(0, 3600).default(15),
  DEFAULT_MODEL_VERSION_ID: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional(),
  RATE_LIMIT_MAX: wholeNumber(1, 1_000_000).default(10),
  RATE_LIMIT_WINDOW_SECONDS: wholeNumber(1, 86400).default(10),
  MODERATION_URL: urlWithoutPassword('MODERATION_API_KEY').optional(),
  MODERATION_API_KEY: z.string().optional(),
  MODERATION_MODEL: z.string().optional(),
  MODERATION_TIMEOUT_SECONDS: wholeNumber(1, 60).optional(),
  IMAGE_MODERATION_URL: urlWithoutPassword('IMAGE_MODERATION_API_KEY').optional(),
  IMAGE_MODERATION_API_KEY: z.string().optional(),
  IMAGE_MODERATION_FAIL: z.enum(['closed', 'open'], 'must be closed or open').default('closed'),
  IMAGE_MODERATION_REFUND: flag.default(true),
  MODERATION_RULES: z.string().optional(),
  REFUND_FAILED: flag.default(true),
  KEY_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,20}$/, 'must be 1 to 20 letters, digits or hyphens')
    .default('easel'),
  TRUST_PROXY: networks('false', 'must be false or the addresses of the proxies in front, like 10.0.0.0/8'),
  MCP_ALLOWED_ORIGINS: origins,
  WEBHOOK_ALLOW_HTTP: flag.default(false),
  WEBHOOK_ALLOWED_NETWORKS: networks('', 'must be networks, like 10.0.0.0/8,fd00::/8'),
  SITE_LANGUAGES: languages,
  SIGN_UP: z.enum(['open', 'provider', 'closed'], 'must be open, provider or closed').default('closed'),
  PASSWORD_SIGN_IN: z.enum(['on', 'off'], 'must be on or off').default('on'),
  SITE_NAME: siteName.optional(),
  SITE_FILE: z.string().optional(),
  SMTP_URL: urlWith('smtp:', 'smtps:').optional(),
  MAIL_FROM: mailSender.optional(),
  OIDC_ISSUER: issuerUrl.optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  OIDC_SIGN_OUT: z.enum(['offer', 'always'], 'must be offer or always').default('offer'),
  OIDC_OPERATOR_GROUP: z.string().optional(),
  OIDC_GROUPS_CLAIM: z.string().default('groups'),
  STRIPE_SECRET_KEY: z
    .string()
    .regex(/^[rs]k_(test|live)_\w+$/, 'must be a secret or restricted key of Stripe, which begins with sk_ or rk_')
    .optional(),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .regex(/^whsec_\S+$/, 'must be the signing secret of the endpoint at Stripe, which begins with whsec_')
    .optional(),
  STRIPE_API_URL: httpOrigin.optional(),
  STRIPE_AUTOMATIC_TAX: flag.default(false),
  STRIPE_TAX_IDS: flag.default(false),
  PAYMENT_GRACE_DAYS: wholeNumber(0, 30).default(3),
  RETAIN_PROMPTS_DAYS: wholeNumber(1, MAX_RETAINED_DAYS).optional(),
  RETAIN_IMAGES_DAYS: wholeNumber(1, MAX_RETAINED_DAYS).optional(),
  LIVE_MONTHS: wholeNumber(1, 120).optional(),
  ARCHIVE_MONTHS: wholeNumber(13, 240).optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: webUrl.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: webUrl.optional(),
  OTEL_SDK_DISABLED: flag.default(false),
  EASEL_COMMIT: z
    .string()
    .regex(/^[0-9a-f]{7,64}$/, 'must be the ID of a git commit')
    .optional(),
  LOG_LEVEL: z.enum(LOG_LEVELS, `must be ${LOG_LEVELS.slice(0, -1).join(', ')} or silent`).default('info'),
})

const TOGETHER = [
  ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'],
  ['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'],
  ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'],
] as const

/** Every setting of a process, parsed once from its environment. */
export type Config = ReturnType<typeof parseConfig>

/** @throws ConfigError with one readable line */
export function parseConfig(env: Record<string, string | undefined>) {
  const given = readEnvironment(env, Object.keys(variables.shape))
  const parsed = variables.safeParse(given)
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => {
      const name = String(path[0])
      return given[name] === undefined ? `${name} is required` : `${name} ${message}`
    })
    throw new ConfigError(problems.join('; '))
  }
  const v = parsed.data
  for (const names of TOGETHER) {
    const missing = names.filter((name) => v[name] === undefined)
    if (missing.length > 0 && missing.length < names.length)
      throw new ConfigError(`${names.join(', ')} belong together: set ${missing.join(' and ')}, too, or none of them`)
  }
  requireFitting(v)
  const baseUrl = v.BASE_URL ?? `http://localhost:${v.PORT}`
  return Object.freeze({
    databaseUrl: v.DATABASE_URL,
    /** For connections that LISTEN: `databaseUrl`, or a way around the pooler that it leads to. */
    databaseListenUrl: v.DATABASE_LISTEN_URL ?? v.DATABASE_URL,
    /** A standby, for lists and statistics. */
    databaseReadUrl: v.DATABASE_READ_URL,
    /** Of processes that don't own the tables: `migrate` grants its user what they need. */
    appDatabaseUrl: v.APP_DATABASE_URL,
    /** Undefined: one-machine mode. */
    redisUrl: v.REDIS_URL,
    /** Of every key in Redis and of BullMQ's queue. */
    redisPrefix: v.REDIS_PREFIX,
    host: v.HOST,
    port: v.PORT,
    /** Serves /health, /ready and /metrics alone. */
    metricsPort: v.METRICS_PORT,
    baseUrl,
    apiBaseUrl: v.API_BASE_URL ?? baseUrl,
    cdnBaseUrl: v.CDN_BASE_URL ?? `${baseUrl}/cdn`,
    /** See cdn-purge.ts; it may hold a secret. */
    cdnPurgeUrl: v.CDN_PURGE_URL,
    ...storageConfig(v, baseUrl),
    inferenceUrls: v.INFERENCE_URL,
    inferenceTimeoutMs: v.INFERENCE_TIMEOUT_SECONDS * 1000,
    generationDeadlineSeconds: v.GENERATION_DEADLINE_SECONDS,
    affinityMaxDelaySeconds: v.AFFINITY_MAX_DELAY_SECONDS,
    defaultModelVersionId: v.DEFAULT_MODEL_VERSION_ID,
    rateLimit: { max: v.RATE_LIMIT_MAX, windowSeconds: v.RATE_LIMIT_WINDOW_SECONDS },
    moderation: {
      ...{ url: v.MODERATION_URL, apiKey: v.MODERATION_API_KEY, rulesFile: v.MODERATION_RULES },
      ...{ model: v.MODERATION_MODEL, deadlineMs: milliseconds(v.MODERATION_TIMEOUT_SECONDS) },
    },
    /** The check of drawn images; `failsOpen`: they are published when nobody could look at them. */
    imageModeration: v.IMAGE_MODERATION_URL
      ? {
          ...{ url: v.IMAGE_MODERATION_URL, apiKey: v.IMAGE_MODERATION_API_KEY ?? v.MODERATION_API_KEY },
          ...{ model: v.MODERATION_MODEL, deadlineMs: milliseconds(v.MODERATION_TIMEOUT_SECONDS) },
          ...{ failsOpen: v.IMAGE_MODERATION_FAIL === 'open', refunds: v.IMAGE_MODERATION_REFUND },
        }
      : undefined,
    refundFailed: v.REFUND_FAILED,
    keyPrefix: v.KEY_PREFIX,
    trustedProxies: v.TRUST_PROXY,
    /** Whose pages may call /mcp, besides our own. */
    mcpAllowedOrigins: v.MCP_ALLOWED_ORIGINS,
    /** `allowedNetworks`: besides the public addresses; CIDRs or addresses. */
    webhooks: { allowHttp: v.WEBHOOK_ALLOW_HTTP, allowedNetworks: v.WEBHOOK_ALLOWED_NETWORKS },
    /** Of the website, the usual one first. */
    languages: v.SITE_LANGUAGES,
    /** Whether people may make an account on the website. */
    signUpIsOpen: v.SIGN_UP === 'open',
    /** Whether people may sign in with a password. */
    takesPasswords: v.PASSWORD_SIGN_IN === 'on',
    /** What the installation shows of itself; `name` comes before that of the file. */
    site: { name: v.SITE_NAME, file: v.SITE_FILE },
    /** Without `smtpUrl` mails go to the log and to /operator/mails; without `from` the site's name sends them. */
    mail: { smtpUrl: v.SMTP_URL, from: v.MAIL_FROM },
    /** The identity provider, where there is one. */
    oidc:
      v.OIDC_ISSUER && v.OIDC_CLIENT_ID && v.OIDC_CLIENT_SECRET
        ? {
            ...{ issuer: v.OIDC_ISSUER, clientId: v.OIDC_CLIENT_ID, clientSecret: v.OIDC_CLIENT_SECRET },
            /** Whether who signs in there gets an account. */
            makesAccounts: v.SIGN_UP !== 'closed',
            /** Else the page after signing out offers it. */
            signsOutThere: v.OIDC_SIGN_OUT === 'always',
            operators: v.OIDC_OPERATOR_GROUP ? { group: v.OIDC_OPERATOR_GROUP, claim: v.OIDC_GROUPS_CLAIM } : undefined,
          }
        : undefined,
    /** Undefined: nothing is sold. */
    stripe:
      v.STRIPE_SECRET_KEY && v.STRIPE_WEBHOOK_SECRET
        ? {
            ...{ secretKey: v.STRIPE_SECRET_KEY, webhookSecret: v.STRIPE_WEBHOOK_SECRET },
            /** Another one is for tests. */
            apiUrl: v.STRIPE_API_URL,
            /** Undefined: none is asked for. */
            tax:
              v.STRIPE_AUTOMATIC_TAX || v.STRIPE_TAX_IDS
                ? { automatic: v.STRIPE_AUTOMATIC_TAX, ids: v.STRIPE_TAX_IDS }
                : undefined,
          }
        : undefined,
    /** How long a subscription goes on that is not paid, while the provider tries to collect the money. */
    paymentGraceDays: v.PAYMENT_GRACE_DAYS,
    retention: { prompts: v.RETAIN_PROMPTS_DAYS, images: v.RETAIN_IMAGES_DAYS },
    liveMonths: v.LIVE_MONTHS,
    archiveMonths: v.ARCHIVE_MONTHS,
    /** Where traces are sent, if anywhere. How, OpenTelemetry reads from the environment itself. */
    tracesUrl: v.OTEL_SDK_DISABLED ? undefined : tracesUrl(v),
    /** Of the source that this was built from, if the build was told. */
    commit: v.EASEL_COMMIT,
    logLevel: v.LOG_LEVEL,
  })
}

const milliseconds = (seconds: number | undefined) => (seconds === undefined ? undefined : seconds * 1000)

/** Where images are kept, and how workers bring them there. */
function storageConfig(v: z.output<typeof variables>, baseUrl: string) {
  const access = {
    endpoint: v.S3_ENDPOINT,
    // Stores of one's own have no regions, and all take this one.
    region: v.S3_REGION ?? 'us-east-1',
    forcePathStyle: v.S3_FORCE_PATH_STYLE ?? v.S3_ENDPOINT !== undefined,
    key:
      v.S3_ACCESS_KEY_ID && v.S3_SECRET_ACCESS_KEY
        ? { id: v.S3_ACCESS_KEY_ID, secret: v.S3_SECRET_ACCESS_KEY }
        : undefined,
  }
  const storage = storageOf(v.STORAGE_URL, access)
  const oldStorage = v.STORAGE_OLD_URL === undefined ? undefined : storageOf(v.STORAGE_OLD_URL, access)
  if (/^ASIA/.test(access.key?.id ?? ''))
    throw new ConfigError(
      'S3_ACCESS_KEY_ID is a key of AWS that lasts for a time only and needs its session token: leave S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY out, and set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or give this host a role',
    )
  for (const it of [storage, oldStorage])
    if (it?.kind === 's3' && namesBucket(it))
      throw new ConfigError(
        `S3_ENDPOINT names the bucket "${it.bucket}", which STORAGE_URL names already: write the address without it (and STORAGE_URL=s3://${it.bucket}/${it.bucket}/…, if images lie there by now)`,
      )
  if ([storage, oldStorage].some((it) => it?.kind === 's3') && !v.S3_REGION && !v.S3_ENDPOINT)
    throw new ConfigError('s3:// storage needs S3_REGION on AWS, or S3_ENDPOINT elsewhere')
  if (oldStorage && storageName(oldStorage) === storageName(storage))
    throw new ConfigError('STORAGE_OLD_URL must name another store than STORAGE_URL, or be left out')
  if (v.UPLOAD_VIA === 'server' && storage.kind === 'file')
    throw new ConfigError('UPLOAD_VIA=server works with s3:// storage only: set STORAGE_URL, or UPLOAD_VIA=direct')
  if (v.UPLOAD_VIA === 'server' && v.UPLOAD_SECRET === undefined)
    throw new ConfigError(
      'UPLOAD_VIA=server needs UPLOAD_SECRET: at least 32 random characters, for servers and workers',
    )
  return {
    storage,
    /** Where images come from that are not in `storage` yet. */
    oldStorage,
    /** Whether the directory may be anybody's: its mount may know no owners and modes. */
    storageAnyOwner: v.STORAGE_ANY_OWNER,
    /** Undefined: workers have a key of the storage. Else they ask the server at `url`, with this secret. */
    uploads: v.UPLOAD_VIA === 'server' && v.UPLOAD_SECRET ? { url: baseUrl, secret: v.UPLOAD_SECRET } : undefined,
  }
}
