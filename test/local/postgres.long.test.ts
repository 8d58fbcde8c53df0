import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runsWith } from '../../src/local/processes.js'
import { until } from '../support/until.js'
import { gone, killed, newDirectory, query, startInChild, useDataDirectory } from './own-postgres.js'

const data = useDataDirectory()

describe('the Postgres of npm start', () => {
  it('is found running after its process was killed, and can be stopped', async () => {
    const child = await startInChild(data.path)
    const [said] = await once(child.stdout as NodeJS.ReadableStream, 'data')
    const { port, pid } = JSON.parse(String(said))
    await killed(child)
    const postgres = await data.start()
    expect(postgres).toMatchObject({ port, pid, reused: true })
    await postgres.stop()
    await gone(pid, data.path)
  })

  it('goes on while another process still uses it', async () => {
    const child = await startInChild(data.path)
    await once(child.stdout as NodeJS.ReadableStream, 'data')
    const guest = await data.start()
    expect(await runsWith(guest.pid, join(data.path, 'data'))).toBe(true)
    await guest.stop()
    expect(await query(guest.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    await killed(child)
    await (await data.start()).stop()
    await gone(guest.pid, data.path)
  })

  it('is one server for two starts at once', async () => {
    const fresh = { dataDir: await newDirectory() }
    const [one, other] = await Promise.all([data.start(fresh), data.start(fresh)])
    expect(one.pid).toBe(other.pid)
    expect([one.reused, other.reused].sort()).toEqual([false, true])
    await one.stop()
    expect(await query(other.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  it('is made anew after its first start was killed amid making the data directory', async () => {
    const halfMade = async (dataDir: string) => (await readdir(dataDir)).filter((name) => name.startsWith('data.new-'))
    const killAmidMaking = async () => {
      const dataDir = await newDirectory()
      const child = await startInChild(dataDir)
      await until(async () => (await halfMade(dataDir)).length > 0, 'a data directory in the making')
      await killed(child)
      if (!(await readdir(dataDir)).includes('data')) return dataDir
      await data.start({ dataDir }) // made before it was killed: the server is stopped after the test
      return undefined
    }
    const fresh = await until(killAmidMaking, 'a kill in time')
    const { url } = await data.start({ dataDir: fresh })
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    expect(await halfMade(fresh)).toEqual([])
  })
})
