/** Servers, a Postgres and an account at Stripe, for runs of payments. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Database } from '../../../src/db/client.js'
import { migrateDatabase } from '../../../src/db/migrations/migrate.js'
import { startLocalPostgres } from '../../../src/local/postgres.js'
import { stripeProvider } from '../../../src/payment/stripe/stripe-provider.js'
import { runLine } from '../../cli/easel.js'
import { SECRET_KEY, startStripeStandIn } from '../../stand-ins/stripe/stripe-stand-in.js'
import { patientDatabase } from '../../support/database.js'
import { seeded } from '../../support/seeded.js'
import { type ServerProcess, startServerProcess } from '../../support/server-process.js'
import { createTestDatabase } from '../../support/services.js'
import { type PaymentsReport, runPayments } from './run-payments.js'

const WEBHOOK_SECRET = 'whsec_of_the_test'
const SERVERS = 2

const givenDatabase = async () => ({ ...(await createTestDatabase()), crash: undefined })

/** A crash loses nothing that was committed: only the processes die. */
async function startCrashingPostgres() {
  const dataDir = await mkdtemp(join(tmpdir(), 'easel-payments-'))
  const start = () => startLocalPostgres({ dataDir, settings: { fsync: 'off', max_connections: '100' } })
  let running = await start()
  onTestFinished(async () => {
    await running.stop()
    await rm(dataDir, { recursive: true, force: true, maxRetries: 20 })
  })
  await migrateDatabase(running.url)
  return {
    url: running.url,
    async crash() {
      process.kill(running.pid, 'SIGQUIT')
      await running.stop()
      running = await start()
    },
  }
}

async function endConnections({ pool }: Database): Promise<void> {
  await pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND random() < 0.5`,
  )
}

/** Ends with the test. @param postgres `own`: it is killed, too; `shared`: it only ends connections */
export async function startPaymentsStage(postgres: 'own' | 'shared') {
  const seed = process.env.TEST_SEED ?? `${Math.floor(Math.random() * 1e9)}`
  console.info(`payments: TEST_SEED=${seed}`)
  const chance = seeded(seed)
  const stripe = await startStripeStandIn()
  onTestFinished(() => stripe.close())
  const { url, crash } = postgres === 'own' ? await startCrashingPostgres() : await givenDatabase()
  const db = patientDatabase(url, 5)
  onTestFinished(() => db.pool.end())
  const env = {
    ...{ DATABASE_URL: url, STRIPE_SECRET_KEY: SECRET_KEY, STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET },
    ...{ STRIPE_API_URL: stripe.url, LOG_LEVEL: 'warn' },
  }
  const servers: ServerProcess[] = await Promise.all(Array.from({ length: SERVERS }, () => startServerProcess(env)))
  onTestFinished(async () => void (await Promise.all(servers.map((it) => it.stop()))))
  const provider = await stripeProvider({
    ...{ secretKey: SECRET_KEY, webhookSecret: WEBHOOK_SECRET, apiUrl: stripe.url },
  })
  const disturbing = chance.fork('disturbing')

  /** A server dies and another one takes its place, or Postgres dies or ends connections. */
  async function disturb(): Promise<void> {
    const what = disturbing.next()
    if (what < 0.4) return endConnections(db)
    if (what < 0.7 && crash) return crash()
    const at = disturbing.below(SERVERS)
    // Nobody waits for what it was doing.
    await servers[at]?.stop()
    servers[at] = await startServerProcess(env)
  }

  return {
    query: (text: string) => db.pool.query(text),

    run: (its: { readonly events: number; readonly accounts: number }): Promise<PaymentsReport> =>
      runPayments({
        ...{ ...its, stripe, provider, webhookSecret: WEBHOOK_SECRET, db, chance, graceDays: 3, disturb },
        urls: () => servers.map((it) => it.url),
        workedOffWithinMs: 60_000 + its.events * 20,
      }),

    /** What `easel audit` finds. */
    async violations(): Promise<unknown[]> {
      const { stdout } = await runLine('audit --json', {
        ...{ DATABASE_URL: url, STORAGE_URL: 'file:/nonexistent', LOG_LEVEL: 'silent' },
      })
      return JSON.parse(stdout).checks.filter((it: { violations: number }) => it.violations > 0)
    },
  }
}
