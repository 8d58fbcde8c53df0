/** What the same libraries do with nothing of ours on top: one route, one prepared statement. */
import type { AddressInfo } from 'node:net'
import { fastify } from 'fastify'
import pg from 'pg'

export async function startBareStack(databaseUrl: string) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 20 })
  await pool.query(
    'CREATE TABLE IF NOT EXISTS bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body jsonb NOT NULL)',
  )
  await pool.query(`INSERT INTO bare (body) SELECT '{}' FROM generate_series(1, 100)`)
  const app = fastify()
  app.get<{ Params: { id: string } }>('/rows/:id', async (request) => {
    const { rows } = await pool.query({
      name: 'get',
      text: 'SELECT * FROM bare WHERE id = $1',
      values: [request.params.id],
    })
    return rows[0]
  })
  app.post('/rows', async (request, reply) => {
    const { rows } = await pool.query({
      name: 'put',
      text: 'INSERT INTO bare (body) VALUES ($1) RETURNING id',
      values: [request.body],
    })
    return reply.code(201).send(rows[0])
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`,
    async close() {
      await app.close()
      await pool.end()
    },
  }
}
