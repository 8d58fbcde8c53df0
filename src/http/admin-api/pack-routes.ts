import { z } from 'zod'
import { importPacks, packPrices, retirePack } from '../../core/operator/packs.js'
import { entriesOf, requireDistinct } from '../shared/entries.js'
import { personalRefusals } from '../shared/error-bodies.js'
import type { App } from '../shared/fastify-app.js'
import * as field from '../shared/fields.js'
import { packOfEntry } from '../shared/pack-entry.js'
import { viewOf } from '../shared/responses.js'
import { act } from './acts.js'
import * as admin from './admin-fields.js'
import type { SalePorts } from './plan-routes.js'

const tags = ['Packs']

const pack = z
  .object({
    name: z.string(),
    credits: z.int(),
    price: z.string().describe('Of the payment provider'),
    retired_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'AdminPack' })

const listSchema = {
  operationId: 'listPacks',
  tags,
  summary: 'All packs, retired ones last',
  description: 'Credits that people can buy.',
  response: { 200: z.object({ packs: z.array(pack) }).meta({ id: 'AdminPackList' }), ...personalRefusals() },
}
const importSchema = {
  operationId: 'importPacks',
  tags,
  summary: 'Add packs, or change those of the same name; all or none',
  description: 'In the fields of the list. A retired pack is for sale again unless its entry has `retired_at`.',
  headers: admin.POSTED,
  body: field.body({
    packs: z.array(z.unknown(), 'packs must be a list.').max(1000).describe('As in a file of packs'),
    reason: admin.reason,
  }),
  response: {
    200: z.object({ imported: z.int() }).meta({ id: 'AdminImportedPacks' }),
    ...personalRefusals(400, 409, 413, 415, 422),
  },
}
const retireSchema = {
  operationId: 'retirePack',
  tags,
  summary: 'Sell a pack no more',
  description: 'Who bought it keeps its credits.',
  params: z.object({ name: z.string().describe("A pack's name") }),
  response: {
    200: z.object({ name: z.string(), retired_at: z.iso.datetime() }).meta({ id: 'AdminRetiredPack' }),
    ...personalRefusals(400, 404),
  },
}

export function packRoutes(app: App, ports: SalePorts): void {
  const config = admin.OF_ACCOUNTS

  app.get('/packs', { schema: listSchema }, async () => ({
    packs: (await ports.administration.packs.list()).map((it) => viewOf(pack, it)),
  }))

  app.post('/packs/import', { config, bodyLimit: admin.IMPORT_LIMIT, schema: importSchema }, async (request, reply) => {
    const packs = await entriesOf(request.body.packs, packOfEntry)
    requireDistinct('name', packs, ({ name }) => name)
    await ports.requirePrices(packPrices(packs))
    return act(request, reply, ports, async (acting) => {
      await importPacks(acting, packs)
      return { body: { imported: packs.length } }
    })
  })

  app.delete('/packs/:name', { config, schema: retireSchema }, (request, reply) => {
    const { name } = request.params
    return act(request, reply, ports, async (acting) => ({
      body: { name, retired_at: await retirePack(acting, name) },
    }))
  })
}
