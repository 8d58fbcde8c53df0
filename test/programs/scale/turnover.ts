/**
 * How many generations a second one Postgres lets begin and end, with nothing else on the machine: connections that claim
 * one and at once record its success. Builds take turns, so that what else the machine does meets all alike.
 */
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import type { RunStore } from '../../../src/core/generations/run/ports.js'
import { migrateDatabase } from '../../../src/db/migrations/migrate.js'
import { startLocalPostgres } from '../../../src/local/postgres.js'
import { median } from '../bench/figures.js'
import { givenAccounts, givenWaiting, MODELS, openFiller } from '../bench/fill.js'
import { benchDirectory } from '../bench/stack.js'

const { values: flags } = parseArgs({
  options: {
    built: { type: 'string', default: 'dist' },
    connections: { type: 'string', default: '10,40' },
    waiting: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '8' },
    rounds: { type: 'string', default: '3' },
  },
})
const SERVES = { models: MODELS, samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }
const builds = flags.built.split(',')

const directory = await benchDirectory()
const postgres = await startLocalPostgres({
  dataDir: join(directory, 'postgres'),
  settings: { max_connections: '200', shared_buffers: '256MB' },
})
try {
  await migrateDatabase(postgres.url)
  const filler = await openFiller(postgres.url)
  await givenAccounts(filler, Number(flags.waiting))
  await givenWaiting(filler, Number(flags.waiting))
  await filler.query('ANALYZE')
  await filler.end()
  for (const connections of flags.connections.split(',').map(Number)) {
    const perSecond = builds.map((): number[] => [])
    for (let round = 0; round < Number(flags.rounds); round++)
      for (const [n, built] of builds.entries()) perSecond[n]?.push(await turnover(built, connections))
    for (const [n, built] of builds.entries())
      console.log(`${built}, ${connections} connections: ${median(perSecond[n] ?? []).toFixed(0)} a second`)
  }
} finally {
  await postgres.stop()
  await rm(directory, { recursive: true, force: true, maxRetries: 5 })
}

async function turnover(built: string, connections: number): Promise<number> {
  const { createDatabase } = await import(resolve(built, 'db/client.js'))
  const { runStore } = await import(resolve(built, 'db/generations/run.js'))
  const db = createDatabase(postgres.url, { maxConnections: connections, onError: () => undefined })
  try {
    const runs: RunStore = runStore(db, { refundFailed: true })
    const begun = performance.now()
    let ended = 0
    const claimOn = async (n: number) => {
      while (performance.now() - begun < Number(flags.seconds) * 1000) {
        const claimed = await runs.claim({ worker: 'w', backend: `gpu-${n}` }, SERVES)
        if (!claimed) throw new Error('nothing is left to claim: let more wait')
        const { slugs, seed, width, height } = claimed
        await runs.succeed(claimed, [{ slug: slugs[0] as string, seed, width, height, bytes: 1, sha256: 'x' }])
        ended++
      }
    }
    await Promise.all(Array.from({ length: connections }, (_, n) => claimOn(n)))
    return ended / ((performance.now() - begun) / 1000)
  } finally {
    await db.pool.end()
  }
}
