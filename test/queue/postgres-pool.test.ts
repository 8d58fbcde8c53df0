import { expect, it, onTestFinished } from 'vitest'
import { openPool } from '../../src/queue/job-queue.js'
import { useDatabase } from '../support/database.js'

const context = useDatabase()

it('a connection that Postgres ends while BullMQ holds it idle does not end the process', async () => {
  const uncaught: unknown[] = []
  const note = (error: unknown) => void uncaught.push(error)
  process.on('uncaughtException', note)
  onTestFinished(() => void process.off('uncaughtException', note))
  await context.db.pool.query('CREATE SCHEMA IF NOT EXISTS bullmq')
  const pool = openPool(context, 1)
  const client = await pool.connect()
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  const ended = new Promise((resolve) => client.once('end', resolve))
  await context.db.pool.query('SELECT pg_terminate_backend($1)', [rows[0].pid])
  await ended
  client.release(true)
  await pool.end()
  expect(uncaught).toEqual([])
})
