import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { describe, it, onTestFinished } from 'vitest'
import { type LocalPostgres, startLocalPostgres } from '../../../src/local/postgres.js'
import type { Settings } from '../../../src/local/postgres-server.js'
import { redisAvailable } from '../../support/services.js'
import { until } from '../../support/until.js'
import { baseBackup, writeOwned } from '../chaos/standby.js'
import { Drill } from './drill.js'

const SPEED = { fsync: 'off', full_page_writes: 'on' }

async function started({ watchdog }: Drill, dataDir: string, settings: Settings): Promise<LocalPostgres> {
  const postgres = await startLocalPostgres({ dataDir, settings })
  watchdog.note(postgres.pid, `-D ${dataDir}`)
  onTestFinished(() => postgres.stop())
  return postgres
}

async function asked(url: string, question: string) {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query(question).finally(() => client.end())
  return rows[0]
}

describe.skipIf(!redisAvailable)('a restore to a point in time, with an empty Redis', () => {
  it('brings everything back as it was at that time, but no image or key that was taken away since', {
    timeout: 480_000,
  }, async () => {
    const drill = await Drill.open()
    const [primary, backup, archive] = ['primary', 'backup', 'archive'].map((name) => join(drill.directory, name)) as [
      ...[string, string, string],
    ]
    await mkdir(archive)
    await chmod(archive, 0o777)
    const archiving = { archive_mode: 'on', archive_command: `cp %p ${archive}/%f` }
    const lost = await started(drill, primary, { ...SPEED, ...archiving })
    await drill.start(lost.url)
    await baseBackup(lost.url, primary, backup)
    const known = await drill.live()
    const before = await drill.answers(known)
    const { now } = await asked(lost.url, 'SELECT clock_timestamp()::text AS now')
    const since = await drill.liveOn(known)
    const { last } = await asked(lost.url, 'SELECT pg_walfile_name(pg_switch_wal()) AS last')
    await until(
      async () => (await asked(lost.url, 'SELECT last_archived_wal AS done FROM pg_stat_archiver')).done >= last,
      'the last piece of the log in the archive',
    )

    await drill.lose()
    await lost.stop()
    await writeOwned(join(backup, 'data'), {
      'recovery.signal': '',
      'postgresql.auto.conf': [
        `restore_command = 'cp ${archive}/%f %p'`,
        `recovery_target_time = '${now}'`,
        `recovery_target_action = 'promote'`,
      ].join('\n'),
    })
    const restored = await started(drill, backup, SPEED)
    const isDone = async () => !(await asked(restored.url, 'SELECT pg_is_in_recovery() AS still')).still
    await until(isDone, 'the end of the recovery')
    await drill.expectRestored(restored.url, known, before, since)
  })
})
