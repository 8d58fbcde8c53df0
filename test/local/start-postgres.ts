import { startLocalPostgres } from '../../src/local/postgres.js'

// A process of its own for postgres.long.test.ts to kill: starts the server of its argument, says so, and stays.
const { port, pid } = await startLocalPostgres({ dataDir: process.argv[2] ?? '', settings: { fsync: 'off' } })
process.stdout.write(JSON.stringify({ port, pid }))
setInterval(() => undefined, 60_000)
