import { join } from 'node:path'
import pg from 'pg'
import { describe, it, onTestFinished } from 'vitest'
import { redisAvailable } from '../../support/services.js'
import { Drill } from './drill.js'
import { findSystemPostgres, runProgram, startSystemPostgres } from './system-postgres.js'

const programs = redisAvailable ? await findSystemPostgres() : undefined

describe.skipIf(!programs)('the restore of a pg_dump, with an empty Redis', () => {
  it('brings everything back as it was at the dump, but no image or key that was taken away since', {
    timeout: 480_000,
  }, async () => {
    const place = programs as string
    const drill = await Drill.open()
    const server = await startSystemPostgres(place, drill)
    onTestFinished(() => server.stop())
    const admin = async (...statements: readonly string[]) => {
      const client = new pg.Client(server.url)
      await client.connect()
      for (const statement of statements) await client.query(statement)
      await client.end()
    }
    const url = server.url.replace(/postgres$/, 'easel')
    const dump = join(drill.directory, 'easel.dump')
    await admin('CREATE DATABASE easel')
    await drill.start(url)
    const known = await drill.live()
    const before = await drill.answers(known)
    await runProgram(place, 'pg_dump', ['--format=custom', `--file=${dump}`, url])
    const since = await drill.liveOn(known)

    await drill.lose()
    await admin('DROP DATABASE easel WITH (FORCE)', 'DROP ROLE easel_app', 'CREATE DATABASE easel')
    await runProgram(place, 'pg_restore', ['--no-owner', '--no-acl', '--exit-on-error', `--dbname=${url}`, dump])
    await drill.expectRestored(url, known, before, since)
  })
})
