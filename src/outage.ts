/** Whether an error says that Postgres or Redis is away: by its code or message, whichever client threw it. */
export function isOutage(thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const { code } = error as { code?: unknown }
    if (typeof code === 'string' && (NETWORK.has(code) || SQLSTATE.test(code))) return true
    if (MESSAGES.test(error.message)) return true
  }
  return false
}

const NETWORK = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'])

// 08: connection; 53: out of resources; 55P03: lock timeout; 57014: statement timeout; 57P0x: shutting down, starting up;
// 25P03: idle in transaction too long; 40001, 40P01: try again.
const SQLSTATE = /^(08|53|57P0|55P03$|57014$|25P03$|40001$|40P01$)/

// What pg and ioredis throw without a code; the last one to requests that a stopping server no longer answers.
const MESSAGES =
  /^(Query read timeout|timeout exceeded when trying to connect|timeout expired|Connection terminated|Client has encountered a connection error|Connection is closed|Command timed out|Stream isn't writeable|Cannot use a pool after calling end)/
