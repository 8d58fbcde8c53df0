import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Those of either tier that take longest: begun last, one of them would run on alone. Payments take three minutes. */
const LONG = [
  'programs/payments/payments',
  'programs/chaos/chaos',
  'security/connections',
  'deploy/proxy',
  'programs/growth/growth',
  'web/pages/playground',
  'http/images/private-images',
  'web/pages/gallery',
  'programs/chaos/rolling-restart',
  'db/generations/generation-states',
  'inference/conformance/backend-conformance',
  'worker/unusable-backend',
  'worker/store-refuses',
  'db/archive/archiving',
  'http/admin-api/command-line',
  'worker/gateway',
  'http/server/health',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = LONG.findIndex((name) => new RegExp(`/test/${name}\\.(long\\.)?test\\.ts$`).test(moduleId))
      return place === -1 ? LONG.length : place
    }
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    globalSetup: ['test/support/global-setup.ts'],
    sequence: { sequencer: LongestFirst },
    pool: 'forks',
    // The files of a process share its modules: importing the service anew for each was a third of all the work. Each ends
    // what it has started, and sets no variable that others read.
    isolate: false,
    // Tests wait for timers and Postgres much of the time: two files at a time leave two cores idle.
    maxWorkers: Math.max(4, availableParallelism() - 1),
    // For a busy machine: a wait ends with its condition, whatever its limit.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    coverage: { include: ['src/**'], reporter: ['text-summary', 'json-summary', 'html'], reportOnFailure: true },
    // What Vite makes of a module is kept for the next run in node_modules, by its content.
    experimental: { fsModuleCache: true },
  },
})
