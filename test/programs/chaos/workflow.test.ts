import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { useDatabase } from '../../support/database.js'
import { givenUser, MODEL } from '../../support/givens.js'
import { keptPrompts } from './final-checks.js'
import type { Kept } from './gpu-hosts.js'
import type { Gpus } from './gpus.js'
import { drawnTwice, importWorkflow, workflowViolations } from './workflow.js'

const database = useDatabase()

const run = (tag: string, more: { attempt?: string; strength?: number; at?: number } = {}) => ({
  ...{ gpu: 1, tag, kind: 'plain', at: 0, endedAt: 1, answered: true, ...more },
})

it('a generation must be drawn with the revision that it names, in twice the size', async () => {
  const { db, url } = database
  for (const change of [1, 2]) await importWorkflow(url, MODEL.filename, change)
  const { id, keyId } = await givenUser(db)
  const { rows } = await db.pool.query('SELECT filename, hash FROM model_definitions ORDER BY revision')
  const [first, second] = rows
  const given = async (tag: string, by: { filename: string; hash: string }, width: number) => {
    const generation = `gen_${tag}`
    await db.pool.query(
      `INSERT INTO generations (id, user_id, api_key_id, lane, metered, model_version_id, model_name, filename, prompt,
         negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, deadline_at)
       VALUES ($1, $2, $3, 'personal', true, 301, 'm', $4, 'word plain ' || $5, '', 256, 256, 1, 4, 7, 'euler_a', 1,
         ARRAY[$1], 0, now() + interval '1 hour')`,
      [generation, id, keyId, first.filename, tag],
    )
    await db.pool.query(
      `INSERT INTO images (slug, generation_id, idx, seed, width, height, bytes, sha256, made_with)
       VALUES ($1, $1, 0, 1, $2, 512, 1, '', $3)`,
      [generation, width, { definition: { name: by.filename, hash: by.hash } }],
    )
  }
  await given('right', first, 512)
  await given('later', second, 512)
  await given('small', first, 256)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  const runs = [run('right', { strength: 0.001 }), run('later', { strength: 0.002 }), run('small'), run('checkpoint')]
  const { found, drawn } = await workflowViolations(client, runs)
  expect(drawn).toHaveLength(3)
  expect(found.map(({ what }) => what).sort()).toEqual([
    'host 1 drew later with the LoRA at 0.002 instead of 0.001',
    'host 1 drew small with the LoRA at undefined instead of 0.001',
    'later names chaos-lora@1, its image chaos-lora@2',
    'small has an image of 256 × 512 pixels',
  ])
})

it('an attempt that a host drew twice is found', () => {
  expect(drawnTwice([run('a'), run('a'), run('b', { attempt: '1' }), run('b', { attempt: '2' })])).toEqual([])
  expect(drawnTwice([run('b', { attempt: '1' }), run('b', { attempt: '1' })])).toHaveLength(1)
})

it('a host may keep of a prompt only what a fault could have left, and nothing in its queue', async () => {
  const kept: Kept[] = [
    { gpu: 1, where: 'history or files', prompt: 'word plain early' },
    { gpu: 1, where: 'history or files', prompt: 'word plain late' },
    { gpu: 1, where: 'queue', prompt: 'word plain early' },
  ]
  const runs = [run('early', { at: 5 }), run('late', { at: 15 }), run('early', { at: 15 })]
  const gpus = { runs, kept: async () => kept } as unknown as Gpus
  const read = (prompt: string) => ({ tag: String(prompt.split(' ')[2]) })
  expect((await keptPrompts(gpus, 'word', read, 10, 0)).map(({ what }) => what)).toEqual([
    'host 1 still has late in its history or files, begun 5 ms after the faults',
    'host 1 still has early in its queue, begun -5 ms after the faults',
  ])
})
