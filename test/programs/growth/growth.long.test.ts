import { dirname } from 'node:path'
import { expect, it } from 'vitest'
import { compiled, redisAvailable } from '../../support/services.js'
import { measureGrowth } from './growth.js'

/** On a machine that is too busy for the time limits of Postgres; the account of such a submit may have its generation. */
const SAYS_BUSY = /^(old poll|poll|submit): 503$|^submit: 429$/

it.skipIf(!redisAvailable)(
  'a history in months passes the audit, and while one moves and another is archived all submits and polls are answered as before',
  async () => {
    const built = dirname(await compiled('src/server.ts'))
    const said: string[] = []
    const { violations, moving, archiving, turnedOver } = await measureGrowth({
      ...{ generations: 6000, accounts: 600, months: 26, phases: ['audit', 'bloat', 'move', 'archive'] },
      ...{ turnover: 300, renewals: 1, autovacuum: 'autovacuum_vacuum_scale_factor = 0.05', rounds: 1 },
      ...{ seconds: 3, commandSeconds: 300 },
      scripts: { server: `${built}/server.js`, worker: `${built}/worker.js`, cli: `${built}/cli.js` },
      ...{ say: (line) => said.push(line), signal: new AbortController().signal },
    })
    expect(violations).toEqual([])
    expect(turnedOver).toBe(300)
    expect(moving?.said).toEqual([
      expect.stringMatching(/^Moved to their months: \d+ generations\. New months: \d{4}-\d\d\./),
    ])
    expect(archiving?.said).toEqual([expect.stringMatching(/^Archived: \d+ generations\./m)])
    for (const compared of [moving, archiving]) {
      const [{ quiet, busy } = {}] = compared?.rounds ?? []
      const before = [...(quiet?.otherwise.keys() ?? [])]
      expect(before.filter((what) => !SAYS_BUSY.test(what))).toEqual([])
      expect([...(busy?.otherwise.keys() ?? ['no stretch'])].filter((what) => !before.includes(what))).toEqual([])
      expect(quiet?.waited.submit.length).toBeGreaterThan(0)
    }
    expect(said.join('\n')).toContain('| generations_queue_of_kind |')
  },
  400_000,
)
