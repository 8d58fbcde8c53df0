import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // The files of a process share its modules: importing the service anew for each was a third of all the work. Each ends
    // what it has started, and sets no variable that others read.
    isolate: false,
    // Tests wait for timers and Postgres much of the time: two files at a time leave two cores idle.
    maxWorkers: Math.max(4, availableParallelism() - 1),
    // For a busy machine: a wait ends with its condition, whatever its limit.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
