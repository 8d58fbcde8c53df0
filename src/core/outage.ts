import { causesOf, isTlsFailure, isUnreached } from '../lib/causes.js'

/** Whether an error says that Postgres or Redis is away or cannot work now: by its code or message, whichever client threw it. */
export const isOutage = (thrown: unknown): boolean =>
  isUnreached(thrown) ||
  isTlsFailure(thrown) ||
  causesOf(thrown).some(
    ({ code = '', message }) => CUT_OFF.has(code) || isStateOfPostgres(code) || MESSAGES.test(message),
  )

/** A connection that was made, and lost. */
const CUT_OFF = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT'])

/** Whether a SQLSTATE tells of the state that Postgres is in, and not of a statement or its data: it may work later. */
export const isStateOfPostgres = (sqlState: string): boolean => STATES.test(sqlState)

const STATES = new RegExp(
  `^(?:(?:${[
    '08', // the connection, or a pooler in front of Postgres
    '0A', // a plan that an altered table outdated: we use nothing that a Postgres of any version lacks
    '0P|28', // a role or a login: dropped, a changed password, a new rule
    '3D|3F', // a database or schema that was dropped, or is being restored
    '40', // try again: a deadlock, a conflict
    '53', // a full disk, no memory, too many connections
    '54', // transaction IDs are used up
    '55', // locked or in use, or accepting no connections
    '57', // out of time, shutting down, starting up
    '58', // the system's own errors
    '72', // a snapshot that is too old
    'F0', // its configuration
    'HV', // a foreign server that somebody put in the place of a table
    'XX', // its own errors: corrupted data or indexes
  ].join('|')})[0-9A-Z]{3}|${[
    '2200H', // a sequence that has run out
    '25006', // read-only: a standby, a full disk of a hosted server
    '25P03|25P04', // a transaction that took too long
    '26000|34000|42P03|42P05', // a pooler that lost or mixed prepared statements or their portals
    '42501', // a right that was revoked
    // Another schema than ours (an older database was restored, an index is missing): what else is in class 42 stands in
    // the text of a statement, which is the same in every test.
    '427(?:02|03|04|25)|428(?:03|04|09|46|83|C9)|42P(?:01|10|17|21|22)',
  ].join('|')})$`,
)

// What pg and ioredis throw without a code, and the first words of Redis's refusals for the state that it is in; the last
// one is thrown to requests that a stopping server no longer answers.
const MESSAGES = new RegExp(
  `^(?:${[
    ...['Query read timeout', 'timeout exceeded when trying to connect', 'timeout expired', 'Connection terminated'],
    ...[
      'Client has encountered a connection error',
      'Client was closed',
      'The server does not support SSL connections',
    ],
    ...['There was an error establishing an SSL connection', 'SASL: '],
    ...[
      'Connection is closed',
      'Command timed out',
      'Socket timeout',
      "Stream isn't writeable",
      'Reached the max retries per request limit',
    ],
    ...['All sentinels are unreachable', 'Failed to refresh slots cache', 'None of startup nodes is available'],
    ...["Cluster isn't ready", 'Cluster is ended', 'Too many Cluster redirections', 'ERR max number of clients'],
    '(?:LOADING|READONLY|MISCONF|OOM|NOREPLICAS|MASTERDOWN|CLUSTERDOWN|NOAUTH|WRONGPASS|NOPERM|DENIED) ',
    'Cannot use a pool after calling end',
  ].join('|')})`,
)
