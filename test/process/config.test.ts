import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ConfigError, parseConfig } from '../../src/process/config.js'
import { readEnvironment, tidyForLibraries } from '../../src/process/environment.js'

const REQUIRED = { DATABASE_URL: 'postgres://easel@db/easel' }
const parse = (env: Record<string, string | undefined> = {}) => parseConfig({ ...REQUIRED, ...env })

function refusalOf(env: Record<string, string | undefined>): string {
  try {
    parseConfig(env)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as Error).message
  }
  throw new Error('the configuration was accepted')
}

const VARIABLES = [
  'DATABASE_LISTEN_URL',
  'DATABASE_READ_URL',
  'APP_DATABASE_URL',
  'PGSSLMODE',
  'REDIS_URL',
  'REDIS_PREFIX',
  'HOST',
  'PORT',
  'METRICS_PORT',
  'BASE_URL',
  'API_BASE_URL',
  'STORAGE_URL',
  'STORAGE_OLD_URL',
  'STORAGE_ANY_OWNER',
  'S3_ENDPOINT',
  'S3_REGION',
  'S3_ACCESS_KEY_ID',
  'S3_SECRET_ACCESS_KEY',
  'S3_FORCE_PATH_STYLE',
  'UPLOAD_VIA',
  'UPLOAD_SECRET',
  'CDN_BASE_URL',
  'INFERENCE_URL',
  'INFERENCE_TIMEOUT_SECONDS',
  'GENERATION_DEADLINE_SECONDS',
  'AFFINITY_MAX_DELAY_SECONDS',
  'DEFAULT_MODEL_VERSION_ID',
  'RATE_LIMIT_MAX',
  'RATE_LIMIT_WINDOW_SECONDS',
  'MODERATION_URL',
  'MODERATION_API_KEY',
  'MODERATION_MODEL',
  'MODERATION_TIMEOUT_SECONDS',
  'IMAGE_MODERATION_URL',
  'IMAGE_MODERATION_API_KEY',
  'IMAGE_MODERATION_FAIL',
  'IMAGE_MODERATION_REFUND',
  'MODERATION_RULES',
  'REFUND_FAILED',
  'KEY_PREFIX',
  'TRUST_PROXY',
  'MCP_ALLOWED_ORIGINS',
  'WEBHOOK_ALLOW_HTTP',
  'WEBHOOK_ALLOWED_NETWORKS',
  'SITE_LANGUAGES',
  'SIGN_UP',
  'PASSWORD_SIGN_IN',
  'SITE_FILE',
  'SITE_NAME',
  'SMTP_URL',
  'MAIL_FROM',
  'OIDC_ISSUER',
  'OIDC_CLIENT_ID',
  'OIDC_CLIENT_SECRET',
  'OIDC_SIGN_OUT',
  'OIDC_OPERATOR_GROUP',
  'OIDC_GROUPS_CLAIM',
  'STRIPE_SECRET_KEY',
  'STRIPE_WEBHOOK_SECRET',
  'STRIPE_API_URL',
  'STRIPE_AUTOMATIC_TAX',
  'STRIPE_TAX_IDS',
  'PAYMENT_GRACE_DAYS',
  'RETAIN_PROMPTS_DAYS',
  'RETAIN_IMAGES_DAYS',
  'LIVE_MONTHS',
  'ARCHIVE_MONTHS',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_SDK_DISABLED',
  'EASEL_COMMIT',
  'LOG_LEVEL',
]

const DEFAULTS = {
  databaseUrl: 'postgres://easel@db/easel',
  databaseListenUrl: 'postgres://easel@db/easel',
  appDatabaseUrl: undefined,
  redisUrl: undefined,
  host: '127.0.0.1',
  port: 3000,
  metricsPort: undefined,
  baseUrl: 'http://localhost:3000',
  apiBaseUrl: 'http://localhost:3000',
  cdnBaseUrl: 'http://localhost:3000/cdn',
  storage: { kind: 'file', path: resolve('.easel/images') },
  oldStorage: undefined,
  storageAnyOwner: false,
  uploads: undefined,
  inferenceUrls: ['preview:'],
  inferenceTimeoutMs: 300_000,
  generationDeadlineSeconds: 3600,
  affinityMaxDelaySeconds: 15,
  defaultModelVersionId: undefined,
  retention: { prompts: undefined, images: undefined },
  rateLimit: { max: 10, windowSeconds: 10 },
  moderation: { url: undefined, apiKey: undefined, rulesFile: undefined },
  refundFailed: true,
  keyPrefix: 'easel',
  trustedProxies: [],
  mcpAllowedOrigins: [],
  webhooks: { allowHttp: false, allowedNetworks: [] },
  languages: ['en'],
  signUpIsOpen: false,
  takesPasswords: true,
  site: { name: undefined, file: undefined },
  mail: { smtpUrl: undefined, from: undefined },
  oidc: undefined,
  stripe: undefined,
  paymentGraceDays: 3,
  redisPrefix: 'easel',
  tracesUrl: undefined,
  commit: undefined,
  logLevel: 'info',
}

it('reads values without the line ends and quotes that files of secrets and variables leave at them', () => {
  const config = parse({
    ...{
      PORT: '3001\r',
      LOG_LEVEL: 'warn\n',
      SITE_NAME: '\ufeffPictures',
      UPLOAD_SECRET: '""\r\n',
      REDIS_URL: 'redis://r\r\n',
    },
    ...{ OIDC_ISSUER: '"https://id.test"\n', OIDC_CLIENT_ID: 'easel\n', OIDC_CLIENT_SECRET: "'a secret'\r\n" },
    ...{ S3_ACCESS_KEY_ID: 'id\n', S3_SECRET_ACCESS_KEY: 'key+/=\n', S3_REGION: 'eu\n', STORAGE_URL: 's3://bucket\n' },
  })
  expect(config).toMatchObject({
    ...{ port: 3001, logLevel: 'warn', site: { name: 'Pictures' }, redisUrl: 'redis://r', uploads: undefined },
    oidc: { clientId: 'easel', clientSecret: 'a secret' },
  })
  expect(JSON.stringify(config.storage)).toContain('"secret":"key+/="')
})

it('reads values without blanks around them, and without the quotes that files of variables keep', () => {
  const config = parse({
    ...{ DATABASE_URL: '"postgres://easel@db/easel"', REDIS_URL: " 'redis://r' ", PORT: ' 3001 ', SIGN_UP: '"open"' },
    ...{ SITE_NAME: '"', MODERATION_URL: '""' },
  })
  expect(config).toMatchObject({
    ...{ databaseUrl: 'postgres://easel@db/easel', redisUrl: 'redis://r', port: 3001, signUpIsOpen: true },
    ...{ site: { name: '"' }, moderation: { url: undefined } },
  })
})

it('lets libraries read their own variables in the same form', () => {
  const env: NodeJS.ProcessEnv = {
    ...{ HTTPS_PROXY: '"http://proxy:3128"', no_proxy: "'localhost'", OTEL_TRACES_SAMPLER: '"always_on"\r' },
    ...{ PGSSLMODE: ' require ', AWS_REGION: '""', HTTP_PROXY: '', NODE_OPTIONS: '"--x"', SITE_NAME: '"Easel"' },
  }
  tidyForLibraries(env)
  expect(env).toEqual({
    ...{ HTTPS_PROXY: 'http://proxy:3128', no_proxy: 'localhost', OTEL_TRACES_SAMPLER: 'always_on' },
    ...{ PGSSLMODE: 'require', NODE_OPTIONS: '"--x"', SITE_NAME: '"Easel"' },
  })
})

describe('a variable from a file', () => {
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'easel-secrets-'))
  })
  afterAll(() => rm(directory, { recursive: true }))

  it('is named by NAME_FILE, as for the secrets of Docker', async () => {
    const path = join(directory, 'database')
    await writeFile(path, 'postgres://easel:secret@db/easel\n')
    expect(parseConfig({ DATABASE_URL_FILE: path, REDIS_URL_FILE: '' })).toMatchObject({
      ...{ databaseUrl: 'postgres://easel:secret@db/easel', redisUrl: undefined },
    })
    // As `npm start` hands it on to what it starts.
    const read = readEnvironment({ DATABASE_URL_FILE: path, PORT: ' "81" ' }, ['DATABASE_URL'])
    expect(read).toEqual({ DATABASE_URL: 'postgres://easel:secret@db/easel', PORT: '81' })
    expect(refusalOf({ DATABASE_URL: 'postgres://db/easel', DATABASE_URL_FILE: path })).toBe(
      'DATABASE_URL and DATABASE_URL_FILE are both set: leave one of them out',
    )
  })

  it('is refused where the file cannot be read, and where its content will not do', async () => {
    const missing = join(directory, 'missing')
    expect(refusalOf({ ...REQUIRED, UPLOAD_SECRET_FILE: missing })).toBe(
      `UPLOAD_SECRET_FILE names ${missing}, which can't be read (ENOENT)`,
    )
    const path = join(directory, 'port')
    await writeFile(path, 'http')
    expect(refusalOf({ ...REQUIRED, PORT_FILE: path })).toBe('PORT must be a whole number from 1 to 65535')
  })
})

describe('the configuration', () => {
  it('needs a database and has a default for everything else', () => {
    expect(parse()).toEqual(DEFAULTS)
    expect(refusalOf({})).toBe('DATABASE_URL is required')
  })

  it('counts an empty variable as absent', () => {
    expect(parse(Object.fromEntries(VARIABLES.map((name) => [name, ''])))).toEqual(DEFAULTS)
    expect(refusalOf({ DATABASE_URL: '' })).toBe('DATABASE_URL is required')
  })

  it('ignores variables that it does not know', () => {
    expect(parse({ PATH: '/bin', EASEL_NOTHING: 'x' })).toEqual(DEFAULTS)
  })

  it('cannot be changed', () => {
    expect(Object.isFrozen(parse())).toBe(true)
  })

  it('builds the public addresses on PORT, BASE_URL and API_BASE_URL, without a slash at their ends', () => {
    expect(parse({ PORT: '8080' })).toMatchObject({
      port: 8080,
      baseUrl: 'http://localhost:8080',
      apiBaseUrl: 'http://localhost:8080',
      cdnBaseUrl: 'http://localhost:8080/cdn',
    })
    expect(parse({ PORT: '8080', BASE_URL: 'https://easel.example/' })).toMatchObject({
      baseUrl: 'https://easel.example',
      apiBaseUrl: 'https://easel.example',
      cdnBaseUrl: 'https://easel.example/cdn',
    })
    expect(parse({ BASE_URL: 'HTTPS://Easel.Example:443//' })).toMatchObject({ baseUrl: 'https://easel.example' })
    const apart = { API_BASE_URL: 'https://api.easel.example/', CDN_BASE_URL: 'https://cdn.example/images//' }
    expect(parse({ BASE_URL: 'https://easel.example', ...apart })).toMatchObject({
      apiBaseUrl: 'https://api.easel.example',
      cdnBaseUrl: 'https://cdn.example/images',
    })
  })

  it.each([
    ['file:images', resolve('images')],
    ['file:/srv/easel', '/srv/easel'],
    ['file:///srv/easel', '/srv/easel'],
    ['file:./a/../b', resolve('b')],
  ])('keeps images where STORAGE_URL=%s says, as an absolute path', (url, path) => {
    expect(parse({ STORAGE_URL: url }).storage).toEqual({ kind: 'file', path })
  })

  it('takes several backends, with blanks around them', () => {
    const inferenceUrls = [
      ...['a1111+http://gpu1:7860', 'a1111+https://user:secret@gpu2:7860', 'preview:', 'sdcpp+http://gpu3:1234'],
      ...['openai+https://:secret@gpu4:8080/v1?sampler=euler_a&model=sdxl', 'comfyui+http://gpu5:8188'],
    ]
    expect(parse({ INFERENCE_URL: ` ${inferenceUrls.join(' , ')},` })).toMatchObject({ inferenceUrls })
  })

  it.each([
    ['false', []],
    ['10.0.0.0/8', ['10.0.0.0/8']],
    ['127.0.0.1, ::1,fd00::/8', ['127.0.0.1', '::1', 'fd00::/8']],
    // As compose adds its own proxy to what .env says.
    ['172.31.251.0/24,false', ['172.31.251.0/24']],
  ])('trusts no proxy but those in TRUST_PROXY=%s', (text, trustedProxies) => {
    expect(parse({ TRUST_PROXY: text })).toMatchObject({ trustedProxies })
  })

  it('takes every other value as it is', () => {
    const given = {
      REDIS_URL: 'rediss://redis:6380/1',
      HOST: '0.0.0.0',
      INFERENCE_TIMEOUT_SECONDS: '60',
      GENERATION_DEADLINE_SECONDS: '120',
      RATE_LIMIT_MAX: '1000',
      RATE_LIMIT_WINDOW_SECONDS: '60',
      MODERATION_URL: 'https://moderation.example/v1',
      MODERATION_API_KEY: 'secret',
      MODERATION_MODEL: 'own-model',
      MODERATION_TIMEOUT_SECONDS: '5',
      IMAGE_MODERATION_URL: 'http://classifier:8000/v1/moderations',
      IMAGE_MODERATION_FAIL: 'open',
      IMAGE_MODERATION_REFUND: 'false',
      MODERATION_RULES: '/etc/easel/rules.json',
      REFUND_FAILED: 'false',
      KEY_PREFIX: 'my-easel',
      LOG_LEVEL: 'debug',
    }
    expect(parse(given)).toMatchObject({
      redisUrl: 'rediss://redis:6380/1',
      host: '0.0.0.0',
      inferenceTimeoutMs: 60_000,
      generationDeadlineSeconds: 120,
      rateLimit: { max: 1000, windowSeconds: 60 },
      moderation: {
        ...{ url: 'https://moderation.example/v1', apiKey: 'secret', rulesFile: '/etc/easel/rules.json' },
        ...{ model: 'own-model', deadlineMs: 5000 },
      },
      imageModeration: {
        ...{ url: 'http://classifier:8000/v1/moderations', apiKey: 'secret', model: 'own-model', deadlineMs: 5000 },
        ...{ failsOpen: true, refunds: false },
      },
      refundFailed: false,
      keyPrefix: 'my-easel',
      logLevel: 'debug',
    })
  })
})

const STORAGE = 'must be file:PATH or s3://BUCKET/PREFIX'
const storageUrl = (url: string, sentence: string): [string, string, string] => ['STORAGE_URL', url, sentence]
const ORIGIN = 'must be an http:// or https:// URL without query or password, like https://easel.example'
const MODES = 'use disable, prefer, require, verify-ca, verify-full, no-verify'
const PARAMETERS = 'TLS has sslmode, sslrootcert, sslcert and sslkey'
const UNREAD = "which can't be read (ENOENT); correct the path, or let this user read the file"
const REDISS = 'must begin with rediss:// for TLS, and with redis:// and no parameter of TLS to do without'
const ROOT =
  'must be an origin without a path, like https://easel.example: Easel needs a host name (or port) of its own, to which the proxy passes all paths'
const ORIGINS = 'must be origins, like https://app.example,http://localhost:6274'
const NO_HOST =
  'names no host: write postgres://user:password@HOST:5432/easel, or for a Unix socket postgres://user:password@/easel?host=/DIRECTORY'
const UNREADABLE = (scheme: string) =>
  `can't be read: write it like ${scheme}://user:password@HOST:PORT, and in the password / as %2F, # as %23 and ? as %3F`
const LONE_PERCENT = 'has a % in its user or password that stands for nothing: write it as %25'
const HOSTS = 'must name its hosts as postgres://user:password@HOST:PORT,HOST:PORT/database'
const ONE_TAKES_WRITES =
  'must say ?target_session_attrs=read-write where it names several hosts, so that no connection leads to a standby'
const PROXIES = 'must be false or the addresses of the proxies in front, like 10.0.0.0/8'

describe('a value that cannot be used is refused with the variable’s name and what it should be', () => {
  it.each([
    ['DATABASE_URL', 'mysql://db/easel', 'must be a URL that begins with postgres:// or postgresql://'],
    ['DATABASE_URL', 'postgres://u:p@/easel', NO_HOST],
    ['DATABASE_URL', 'postgres://u:p@/easel?unix_sock=/tmp', NO_HOST],
    ['DATABASE_READ_URL', 'postgres://u:p@:5432/easel', NO_HOST],
    ['DATABASE_URL', 'postgres://u:pa/ss@db/easel', UNREADABLE('postgres')],
    ['DATABASE_URL', 'postgres://u:pa#ss@db/easel', UNREADABLE('postgres')],
    ['REDIS_URL', 'redis://:pa/ss@redis', UNREADABLE('redis')],
    ['SMTP_URL', 'smtp://me:pa#ss@mail.example', UNREADABLE('smtp')],
    ['DATABASE_URL', 'db', 'must be a URL that begins with postgres:// or postgresql://'],
    ['DATABASE_URL', 'postgres://db/easel?sslmode=verify_full', `has the unknown sslmode "verify_full"; ${MODES}`],
    ['DATABASE_URL', 'postgres://one:1,two:x/easel', HOSTS],
    ['DATABASE_URL', 'postgres://one,two/easel', ONE_TAKES_WRITES],
    ['DATABASE_URL', 'postgres://one,two/easel?target_session_attrs=prefer-standby', ONE_TAKES_WRITES],
    ['DATABASE_LISTEN_URL', 'postgres://one/easel?target_session_attrs=standby', ONE_TAKES_WRITES],
    [
      'DATABASE_URL',
      'postgres://one,two/easel?target_session_attrs=read-write&sslmode=x',
      `has the unknown sslmode "x"; ${MODES}`,
    ],
    ['DATABASE_URL', 'postgres://db/easel?sslmode=', `has the unknown sslmode ""; ${MODES}`],
    ['DATABASE_URL', 'postgres://db/easel?sslmode=allow', `has the unknown sslmode "allow"; ${MODES}`],
    ['DATABASE_URL', 'postgres://db/easel?ssl_mode=require', `has the unknown parameter "ssl_mode"; ${PARAMETERS}`],
    ['DATABASE_URL', 'postgres://db/easel?sslMode=require', `has the unknown parameter "sslMode"; ${PARAMETERS}`],
    ['DATABASE_LISTEN_URL', 'postgres://db/easel?sslrootca=x', `has the unknown parameter "sslrootca"; ${PARAMETERS}`],
    ['DATABASE_URL', 'postgres://db/easel?sslrootcert=/nowhere/ca.pem', `names sslrootcert=/nowhere/ca.pem, ${UNREAD}`],
    [
      'DATABASE_URL',
      'postgres://db/easel?sslmode=verify-full&sslrootcert=package.json',
      'names sslrootcert=package.json, which is no file in PEM form',
    ],
    ['PGSSLMODE', 'on', 'must be one of disable, prefer, require, verify-ca, verify-full, no-verify'],
    ['REDIS_URL', 'rediss://redis?sslrootcert=/nowhere/ca.pem', `names sslrootcert=/nowhere/ca.pem, ${UNREAD}`],
    ['REDIS_URL', 'rediss://redis?sslmode=verify', `has the unknown sslmode "verify"; ${MODES}`],
    ['REDIS_URL', 'redis://redis?sslmode=verify-full', REDISS],
    ['REDIS_URL', 'rediss://redis?sslmode=disable', REDISS],
    [
      'REDIS_URL',
      'redis://redis/easel',
      'must end with the number of a database or without one, like redis://host:6379/0',
    ],
    [
      'REDIS_URL',
      'redis://redis/-1',
      'must end with the number of a database or without one, like redis://host:6379/0',
    ],
    ['REDIS_URL', 'redis', 'must be a URL that begins with redis:// or rediss://'],
    ['REDIS_PREFIX', 'a:b', 'must be 1 to 40 letters, digits, dots, hyphens or underscores'],
    ['REDIS_URL', 'redis:6379', 'must be a URL that begins with redis:// or rediss://'],
    ['DATABASE_URL', 'postgres:5432/easel', 'must be a URL that begins with postgres:// or postgresql://'],
    ['REDIS_URL', 'http://redis', 'must be a URL that begins with redis:// or rediss://'],
    ['REDIS_URL', 'redis://easel?sentinels=a:1,', 'must name its sentinels as ?sentinels=HOST:PORT,HOST:PORT'],
    [
      'REDIS_URL',
      'redis://easel?sentinels=:pw@a:1',
      'must name the login of its sentinels as &sentinel_username=USER&sentinel_password=PASSWORD',
    ],
    ...['sentinels=a&sentinel_tls=yes', 'sentinels=a&sentinelPassword=x', 'sentinel_password=x'].map(
      (parameters): [string, string, string] => [
        'REDIS_URL',
        `redis://easel?${parameters}`,
        'may say sentinel_username=USER, sentinel_password=PASSWORD and sentinel_tls=true or false of its sentinels, behind ?sentinels=HOST:PORT',
      ],
    ),
    ['REDIS_URL', 'redis://:pa%ss@redis', LONE_PERCENT],
    ...['DATABASE_URL', 'DATABASE_LISTEN_URL', 'DATABASE_READ_URL', 'APP_DATABASE_URL'].map(
      (variable): [string, string, string] => [variable, 'postgres://easel:pa%ss@db/easel', LONE_PERCENT],
    ),
    ['DATABASE_URL', 'postgres://easel:50%@/easel?host=/run/postgresql', LONE_PERCENT],
    ['SMTP_URL', 'smtp://me:100%@mail.example', LONE_PERCENT],
    ['REDIS_URL', 'redis://a?cluster=b:1,', 'must name the other nodes of the cluster as ?cluster=HOST:PORT,HOST:PORT'],
    ['REDIS_URL', 'redis://a/3?cluster=b:1', 'must end without the number of a database, as a cluster has only one'],
    ['PORT', '0', 'must be a whole number from 1 to 65535'],
    ['PORT', '65536', 'must be a whole number from 1 to 65535'],
    ['PORT', '80.5', 'must be a whole number from 1 to 65535'],
    ['PORT', 'http', 'must be a whole number from 1 to 65535'],
    ['PORT', '8 0', 'must be a whole number from 1 to 65535'],
    ['BASE_URL', 'easel.example', ORIGIN],
    ['BASE_URL', 'ftp://easel.example', ORIGIN],
    ['BASE_URL', 'https://easel.example/?x=1', ORIGIN],
    // As compose makes it of a SITE_ADDRESS that is a URL.
    ['BASE_URL', 'https://https://easel.example', ORIGIN],
    ['API_BASE_URL', '//api.easel.example', ORIGIN],
    ['BASE_URL', 'https://easel.example/?', ORIGIN],
    ['BASE_URL', 'https://easel.example/easel', ROOT],
    ['BASE_URL', 'http://localhost:3000/easel/', ROOT],
    ['BASE_URL', 'https://easel.example/%20', ROOT],
    ['API_BASE_URL', 'https://api.easel.example/v1', ROOT],
    ['CDN_BASE_URL', 'https://cdn.example/#x', ORIGIN],
    ...['file:', '/srv/easel', 's3:bucket', 'S3://bucket', 'https://bucket.example'].map((url) =>
      storageUrl(url, STORAGE),
    ),
    storageUrl('s3://', 'names no bucket: write s3://BUCKET/PREFIX'),
    storageUrl('s3:///x', 'names no bucket: write s3://BUCKET/PREFIX'),
    storageUrl('s3://b/p', 'names the bucket "b", which is too short: the name of a bucket has at least 3 characters'),
    storageUrl(
      `s3://${'b'.repeat(64)}`,
      `names the bucket "${'b'.repeat(64)}", which is too long: the name of a bucket has at most 63 characters`,
    ),
    ...['-pictures', 'pictures.', '_pictures'].map((name) =>
      storageUrl(`s3://${name}/x`, `names the bucket "${name}", which must begin and end with a letter or a digit`),
    ),
    storageUrl('s3://pic..tures', 'names the bucket "pic..tures", which must not have two dots in a row'),
    storageUrl('s3://10.0.0.1/x', 'names the bucket "10.0.0.1", which must not be an IP address'),
    // Not repeated, since it may be a key.
    ...['s3://id:secret@bucket', 's3://my bucket', 's3://pictures:9000/x'].map((url) =>
      storageUrl(url, 'names a bucket with other characters than letters, digits, dots, hyphens and underscores'),
    ),
    ...['s3://bucket//x', 's3://bucket/x?y=z', 's3://bucket/../x', 's3://bucket/x/.'].map((url) =>
      storageUrl(url, expect.stringMatching(/^has a prefix that can't be used: write parts of letters, digits/)),
    ),
    ['ARCHIVE_MONTHS', '12', 'must be a whole number from 13 to 240'],
    ['ARCHIVE_MONTHS', '13', 'archives what has moved to its month: set LIVE_MONTHS, too, to a lower number'],
    ['STORAGE_OLD_URL', 'images', STORAGE],
    ['STORAGE_OLD_URL', 'file:.easel/images', 'must name another store than STORAGE_URL, or be left out'],
    ['S3_ENDPOINT', 'minio:9000', ORIGIN],
    ['UPLOAD_VIA', 'proxy', 'must be direct or server'],
    ['UPLOAD_SECRET', 'too short', 'must have at least 32 characters'],
    ['INFERENCE_URL', ',', 'must name at least one backend, like preview:'],
    ['INFERENCE_URL', 'gpu1', 'has an entry without a scheme; write each like preview: or a1111+http://host:7860'],
    ['INFERENCE_URL', 'a1111+http:', 'has an entry without a host; write it like a1111+http://host:7860'],
    ['INFERENCE_TIMEOUT_SECONDS', '0', 'must be a whole number from 1 to 86400'],
    ['GENERATION_DEADLINE_SECONDS', '604801', 'must be a whole number from 1 to 604800'],
    ['RATE_LIMIT_MAX', '-1', 'must be a whole number from 1 to 1000000'],
    ['RATE_LIMIT_WINDOW_SECONDS', '1e3', 'must be a whole number from 1 to 86400'],
    ['MODERATION_URL', 'moderation.example', 'must be a URL that begins with http:// or https://'],
    [
      'MODERATION_URL',
      'https://user:secret@moderation.example',
      'must hold no user name or password: put the key into MODERATION_API_KEY',
    ],
    [
      'MODERATION_URL',
      'https://:secret@moderation.example',
      'must hold no user name or password: put the key into MODERATION_API_KEY',
    ],
    ['MODERATION_TIMEOUT_SECONDS', '61', 'must be a whole number from 1 to 60'],
    [
      'IMAGE_MODERATION_URL',
      'https://:secret@moderation.example',
      'must hold no user name or password: put the key into IMAGE_MODERATION_API_KEY',
    ],
    ['IMAGE_MODERATION_FAIL', 'maybe', 'must be closed or open'],
    ['IMAGE_MODERATION_REFUND', 'no', 'must be true or false'],
    ['REFUND_FAILED', 'yes', 'must be true or false'],
    ['REFUND_FAILED', '1', 'must be true or false'],
    ['REFUND_FAILED', 'TRUE', 'must be true or false'],
    ['KEY_PREFIX', 'my_easel', 'must be 1 to 20 letters, digits or hyphens'],
    ['KEY_PREFIX', 'x'.repeat(21), 'must be 1 to 20 letters, digits or hyphens'],
    ['TRUST_PROXY', 'true', PROXIES],
    ['TRUST_PROXY', '1', PROXIES],
    ['TRUST_PROXY', 'proxy.example', PROXIES],
    ['TRUST_PROXY', '10.0.0.0/33', PROXIES],
    ...['*', 'app.example', 'https://app.example/mcp', 'https://a b', 'https://me@app.example', 'null', 'https://'].map(
      (value): [string, string, string] => ['MCP_ALLOWED_ORIGINS', value, ORIGINS],
    ),
    ['WEBHOOK_ALLOW_HTTP', 'yes', 'must be true or false'],
    ['WEBHOOK_ALLOWED_NETWORKS', '10.0.0.0/8,inside', 'must be networks, like 10.0.0.0/8,fd00::/8'],
    ['LOG_LEVEL', 'loud', 'must be trace, debug, info, warn, error, fatal or silent'],
  ])('%s=%s', (name, value, sentence) => {
    const refusal = refusalOf({ ...REQUIRED, [name]: value })
    expect(refusal?.slice(name.length + 1)).toEqual(sentence)
    expect(refusal?.startsWith(`${name} `)).toBe(true)
  })

  it('INFERENCE_URL with a scheme that Easel does not have yet', () => {
    expect(refusalOf({ ...REQUIRED, INFERENCE_URL: 'preview:,teleport+http://user:secret@gpu1:7860' })).toMatch(
      /^INFERENCE_URL has an entry with the unknown scheme "teleport\+http"; use preview, comfyui\+http, /,
    )
  })

  it('INFERENCE_URL without the kind of a server', () => {
    const sentence = refusalOf({ ...REQUIRED, INFERENCE_URL: 'http://gpu1:8188' })
    expect(sentence).toMatch(
      /^INFERENCE_URL has an entry that does not say what kind of server it is; write comfyui\+http:/,
    )
    expect(sentence).toContain('"easel backend check http://…" finds out which')
  })

  it.each([
    'preview:,preview:',
    'a1111+http://gpu1:7860,a1111+http://gpu1:7860/',
    'a1111+http://gpu1:7860,a1111+http://me:secret@GPU1:7860',
    'a1111+http://gpu1:1234,sdcpp+http://gpu1:1234',
    'openai+http://gpu1/v1?sampler=euler&model=a,openai+http://gpu1/v1?sampler=heun&model=b',
    'openai+http://gpu1:8080?sampler=euler,openai+http://gpu1:8080/v1?sampler=ddim',
    'sdcpp+http://gpu1:1234,openai+http://gpu1:1234/v1/?sampler=euler',
  ])('one server twice in INFERENCE_URL: %s', (url) => {
    expect(refusalOf({ ...REQUIRED, INFERENCE_URL: url })).toBe('INFERENCE_URL must name each GPU server only once')
  })

  it('but two servers on one host are not refused', () => {
    const urls = 'preview:,a1111+http://gpu1:7860,a1111+http://gpu1:7861,comfyui+https://gpu1/a,comfyui+https://gpu1/b'
    expect(parseConfig({ ...REQUIRED, INFERENCE_URL: urls }).inferenceUrls).toHaveLength(5)
  })

  it('and several of them are named at once, each in its own words, on one line', () => {
    expect(refusalOf({ PORT: 'x', REFUND_FAILED: 'maybe' })).toBe(
      'DATABASE_URL is required; PORT must be a whole number from 1 to 65535; REFUND_FAILED must be true or false',
    )
  })

  it('and no password is shown', () => {
    const secret = 'hunter2'
    for (const env of [
      { DATABASE_URL: `mysql://easel:${secret}@db/easel` },
      { ...REQUIRED, REDIS_URL: `http://:${secret}@redis` },
      { ...REQUIRED, INFERENCE_URL: `http://user:${secret}@gpu:7860` },
      { ...REQUIRED, INFERENCE_URL: `a1111+http://user:${secret}@` },
      { ...REQUIRED, INFERENCE_URL: `//user:${secret}@gpu:7860` },
      { ...REQUIRED, MODERATION_URL: `ftp://user:${secret}@moderation` },
    ]) {
      expect(refusalOf(env)).not.toContain(secret)
    }
  })
})

describe('sslmode', () => {
  it.each(['prefer', 'require', 'verify-ca'])('%s is verify-full, as it always was', (mode) => {
    const url = `postgres://u:p%40@db/easel?application_name=x&sslmode=${mode}`
    expect(parse({ DATABASE_URL: url }).databaseUrl).toBe(url.replace(mode, 'verify-full'))
  })

  it.each(['disable', 'verify-full', 'no-verify'])('%s stays as it is', (mode) => {
    const url = `postgres://db/easel?sslmode=${mode}`
    expect(parse({ DATABASE_URL: url }).databaseUrl).toBe(url)
  })
})

describe('traces', () => {
  it('are sent where there is somewhere to send them, unless OpenTelemetry is switched off', () => {
    const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://collector:4318'
    expect(parse({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SDK_DISABLED: 'true' }).tracesUrl).toBeUndefined()
    for (const end of ['', '/', '/v1/traces', '/v1/traces/'])
      expect(parse({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://collector:4318/otlp${end}` }).tracesUrl).toBe(
        'http://collector:4318/otlp/v1/traces',
      )
    const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://tempo:4318/spans' }
    for (const all of [{}, { OTEL_EXPORTER_OTLP_ENDPOINT }])
      expect(parse({ ...own, ...all }).tracesUrl).toBe('http://tempo:4318/spans')
    expect(refusalOf({ ...REQUIRED, OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' })).toBe(
      'OTEL_EXPORTER_OTLP_ENDPOINT must be a URL that begins with http:// or https://',
    )
  })
})

describe('signing in to the website', () => {
  const OIDC = { OIDC_ISSUER: 'https://id.example/', OIDC_CLIENT_ID: 'easel', OIDC_CLIENT_SECRET: 's' }

  it('is in the languages that SITE_LANGUAGES lists', () => {
    expect(parse({ SITE_LANGUAGES: 'de, EN,de' }).languages).toEqual(['de', 'en'])
    const refused = 'SITE_LANGUAGES must be one or more of en, de, with commas between them'
    expect(refusalOf({ ...REQUIRED, SITE_LANGUAGES: 'de,fr' })).toBe(refused)
    expect(refusalOf({ ...REQUIRED, SITE_LANGUAGES: ',' })).toBe(refused)
  })

  it('is open to new people only if SIGN_UP says so', () => {
    expect(parse({ SIGN_UP: 'open' }).signUpIsOpen).toBe(true)
    expect(refusalOf({ ...REQUIRED, SIGN_UP: 'true' })).toBe('SIGN_UP must be open, provider or closed')
    expect(refusalOf({ ...REQUIRED, SIGN_UP: 'provider' })).toContain(
      'SIGN_UP=provider works with an identity provider',
    )
    const made = (SIGN_UP: string) => parse({ ...OIDC, SIGN_UP })
    expect([made('provider').signUpIsOpen, made('provider').oidc?.makesAccounts]).toEqual([false, true])
    expect([made('open').oidc?.makesAccounts, made('closed').oidc?.makesAccounts]).toEqual([true, false])
  })

  it('goes without passwords only where there is another way to sign in', () => {
    const off = { PASSWORD_SIGN_IN: 'off' }
    expect(refusalOf({ ...REQUIRED, ...off })).toContain('set OIDC_ISSUER or SMTP_URL, too')
    expect(refusalOf({ ...REQUIRED, ...OIDC, ...off, SIGN_UP: 'open' })).toContain('set SIGN_UP to provider or closed')
    expect(parse({ ...OIDC, ...off, SIGN_UP: 'provider' }).takesPasswords).toBe(false)
    expect(parse({ SMTP_URL: 'smtp://mail.test', ...off }).takesPasswords).toBe(false)
  })

  it('has a name of one line', () => {
    for (const SITE_NAME of ['Atelier', ' Atelier K & Söhne ', '绘'])
      expect(parse({ SITE_NAME }).site.name).toBe(SITE_NAME.trim())
    for (const SITE_NAME of ['x'.repeat(41), 'two\nlines', 'a\u202eb', 'a\0'])
      expect(refusalOf({ ...REQUIRED, SITE_NAME })).toBe('SITE_NAME must have 1 to 40 characters, in one line')
  })

  it('sends mail from the address that it is told', () => {
    const from = (env: Record<string, string>) => parse(env).mail.from
    expect(from({})).toBeUndefined()
    const address = 'a@b.example'
    expect(from({ MAIL_FROM: address })).toEqual({ name: '', address })
    // Read as a header, some of these would be two addresses, a group, or a comment.
    for (const name of ['The Easel', 'Easel, Inc.', 'Team: Easel', 'Easel (Beta); art', 'Bürger & Söhne'])
      for (const MAIL_FROM of [`${name} <${address}>`, ` "${name}" <${address}> `, `${name}<${address}>`])
        expect(from({ MAIL_FROM })).toEqual({ name, address })
    for (const MAIL_FROM of ['easel', 'a@b, c@d', 'Easel a@b.example', 'Easel\nBcc: <x@y.z>'])
      expect(refusalOf({ ...REQUIRED, MAIL_FROM })).toBe(
        'MAIL_FROM must be a mail address, like easel@example.com or Easel <easel@example.com>',
      )
    expect(parse({ SMTP_URL: 'smtps://u:p@mail.example' }).mail.smtpUrl).toBe('smtps://u:p@mail.example')
    expect(refusalOf({ ...REQUIRED, SMTP_URL: 'mail.example:25' })).toBe(
      'SMTP_URL must be a URL that begins with smtp:// or smtps://',
    )
  })

  it('uses an identity provider only if all of its variables are set and its URL is HTTPS', () => {
    const issuer = 'https://id.example/'
    expect(parse(OIDC).oidc).toEqual({
      issuer,
      clientId: 'easel',
      clientSecret: 's',
      makesAccounts: false,
      signsOutThere: false,
    })
    expect(parse({ ...OIDC, OIDC_SIGN_OUT: 'always' }).oidc?.signsOutThere).toBe(true)
    expect(refusalOf({ ...REQUIRED, OIDC_SIGN_OUT: 'yes' })).toBe('OIDC_SIGN_OUT must be offer or always')
    for (const issuer of ['https://id.example', 'https://id.example/realms/a', 'https://id.example/application/o/a/'])
      expect(parse({ ...OIDC, OIDC_ISSUER: issuer }).oidc?.issuer).toBe(issuer)
    expect(parse({ ...OIDC, OIDC_ISSUER: 'http://localhost:9/realm' }).oidc?.issuer).toBe('http://localhost:9/realm')
    expect(refusalOf({ ...REQUIRED, ...OIDC, OIDC_CLIENT_ID: '' })).toBe(
      'OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET belong together: set OIDC_CLIENT_ID, too, or none of them',
    )
    expect(refusalOf({ ...REQUIRED, ...OIDC, OIDC_ISSUER: 'http://id.example' })).toBe(
      'OIDC_ISSUER must begin with https://, except on localhost',
    )
  })

  it('takes operators from a group of the provider if OIDC_OPERATOR_GROUP names it', () => {
    const operators = (env: Record<string, string>) => parse({ ...OIDC, ...env }).oidc?.operators
    expect(operators({ OIDC_GROUPS_CLAIM: 'roles' })).toBeUndefined()
    expect(operators({ OIDC_OPERATOR_GROUP: 'The admins' })).toEqual({ group: 'The admins', claim: 'groups' })
    expect(operators({ OIDC_OPERATOR_GROUP: 'admins', OIDC_GROUPS_CLAIM: 'roles' })).toEqual({
      group: 'admins',
      claim: 'roles',
    })
    expect(refusalOf({ ...REQUIRED, OIDC_OPERATOR_GROUP: 'admins' })).toBe(
      'OIDC_OPERATOR_GROUP works with an identity provider only: set OIDC_ISSUER, too, or leave it out',
    )
  })
})

describe('payment', () => {
  const STRIPE = { STRIPE_SECRET_KEY: 'rk_live_51Abc', STRIPE_WEBHOOK_SECRET: 'whsec_abc' }

  it('goes through Stripe if both of its variables are set', () => {
    const taken = { secretKey: 'rk_live_51Abc', webhookSecret: 'whsec_abc' }
    expect(parse(STRIPE).stripe).toEqual(taken)
    const elsewhere = parse({ ...STRIPE, STRIPE_API_URL: 'http://127.0.0.1:12111/' })
    expect(elsewhere.stripe).toEqual({ ...taken, apiUrl: 'http://127.0.0.1:12111' })
    const taxed = parse({ ...STRIPE, STRIPE_AUTOMATIC_TAX: 'true' })
    expect(taxed.stripe).toEqual({ ...taken, tax: { automatic: true, ids: false } })
    expect(refusalOf({ ...REQUIRED, STRIPE_SECRET_KEY: 'sk_test_1' })).toBe(
      'STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET belong together: set STRIPE_WEBHOOK_SECRET, too, or none of them',
    )
    expect(refusalOf({ ...REQUIRED, ...STRIPE, STRIPE_SECRET_KEY: 'pk_live_1' })).toBe(
      'STRIPE_SECRET_KEY must be a secret or restricted key of Stripe, which begins with sk_ or rk_',
    )
    expect(refusalOf({ ...REQUIRED, ...STRIPE, STRIPE_WEBHOOK_SECRET: 'we_1' })).toBe(
      'STRIPE_WEBHOOK_SECRET must be the signing secret of the endpoint at Stripe, which begins with whsec_',
    )
  })

  it('keeps prompts and images for ever, or some days', () => {
    const days = { RETAIN_PROMPTS_DAYS: '30', RETAIN_IMAGES_DAYS: '7' }
    expect(parse(days).retention).toEqual({ prompts: 30, images: 7 })
    expect(refusalOf({ ...REQUIRED, RETAIN_PROMPTS_DAYS: '0' })).toBe(
      'RETAIN_PROMPTS_DAYS must be a whole number from 1 to 36500',
    )
  })

  it('has up to 30 days of grace', () => {
    expect(['0', '30'].map((days) => parse({ PAYMENT_GRACE_DAYS: days }).paymentGraceDays)).toEqual([0, 30])
    expect(refusalOf({ ...REQUIRED, PAYMENT_GRACE_DAYS: '31' })).toBe(
      'PAYMENT_GRACE_DAYS must be a whole number from 0 to 30',
    )
  })
})

describe('object storage', () => {
  const AWS = { STORAGE_URL: 's3://pictures', S3_REGION: 'eu-central-1' }
  const OWN = { STORAGE_URL: 's3://pictures/easel/', S3_ENDPOINT: 'http://minio:9000/' }
  const KEY = { S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'hunter2' }
  const SECRET = 'x'.repeat(32)

  it('is AWS, or the server that S3_ENDPOINT names, with the bucket in the path', () => {
    const aws = { kind: 's3', bucket: 'pictures', prefix: '', region: 'eu-central-1', forcePathStyle: false }
    expect(parse(AWS).storage).toEqual({ ...aws, endpoint: undefined, key: undefined })
    const own = { prefix: 'easel/', endpoint: 'http://minio:9000', region: 'us-east-1', forcePathStyle: true }
    expect(parse({ ...OWN, ...KEY }).storage).toEqual({ ...aws, ...own, key: { id: 'id', secret: 'hunter2' } })
    expect(parse({ ...OWN, S3_FORCE_PATH_STYLE: 'false' }).storage).toMatchObject({ forcePathStyle: false })
  })

  it.each([
    [{ STORAGE_URL: 's3://pictures' }, 's3:// storage needs S3_REGION on AWS, or S3_ENDPOINT elsewhere'],
    [{ STORAGE_OLD_URL: 's3://pictures' }, 's3:// storage needs S3_REGION on AWS, or S3_ENDPOINT elsewhere'],
    [
      { ...AWS, S3_SECRET_ACCESS_KEY: 'hunter2' },
      'S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY belong together: set S3_ACCESS_KEY_ID, too, or none of them',
    ],
    [
      { UPLOAD_VIA: 'server', UPLOAD_SECRET: SECRET },
      'UPLOAD_VIA=server works with s3:// storage only: set STORAGE_URL, or UPLOAD_VIA=direct',
    ],
    [
      { ...AWS, UPLOAD_VIA: 'server' },
      'UPLOAD_VIA=server needs UPLOAD_SECRET: at least 32 random characters, for servers and workers',
    ],
  ])('is refused if something is missing: %o', (env, sentence) => {
    expect(refusalOf({ ...REQUIRED, ...env })).toBe(sentence)
  })

  it.each([
    'https://account.r2.cloudflarestorage.com/pictures',
    'https://pictures.fra1.digitaloceanspaces.com',
    'https://pictures.s3.eu-central-1.amazonaws.com/',
    'http://minio:9000/pictures/',
  ])('is refused where its address has the bucket a second time: %s', (S3_ENDPOINT) => {
    expect(refusalOf({ ...REQUIRED, ...OWN, S3_ENDPOINT })).toBe(
      'S3_ENDPOINT names the bucket "pictures", which STORAGE_URL names already: write the address without it (and STORAGE_URL=s3://pictures/pictures/…, if images lie there by now)',
    )
  })

  it.each(['http://pictures:9000', 'https://pictures.store.svc.cluster.local', 'https://store.example/pictures/s3'])(
    'may have the name of its bucket in an address of one’s own: %s',
    (S3_ENDPOINT) => {
      expect(parse({ ...OWN, S3_ENDPOINT }).storage).toMatchObject({ endpoint: S3_ENDPOINT })
    },
  )

  it('is refused a key of AWS that lasts for a time only, whose session token it would lack', () => {
    expect(refusalOf({ ...REQUIRED, ...AWS, ...KEY, S3_ACCESS_KEY_ID: 'ASIAEXAMPLE' })).toMatch(
      /^S3_ACCESS_KEY_ID is a key of AWS that lasts .* set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or give this host a role$/,
    )
  })

  it('is written through the server by workers that have no key', () => {
    const env = { ...AWS, UPLOAD_VIA: 'server', UPLOAD_SECRET: SECRET, BASE_URL: 'https://easel.example' }
    expect(parse(env).uploads).toEqual({ url: 'https://easel.example', secret: SECRET })
    expect(parse({ ...AWS, UPLOAD_SECRET: SECRET }).uploads).toBeUndefined()
  })
})
