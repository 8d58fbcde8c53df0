import { z } from 'zod'
import { REPORT_REASONS, type ReportReason } from '../../core/images/reports.js'
import { dismissReports } from '../../core/operator/image-reports.js'
import { personalRefusals } from '../shared/error-bodies.js'
import type { App } from '../shared/fastify-app.js'
import * as field from '../shared/fields.js'
import { viewOf } from '../shared/responses.js'
import { type ActPorts, act } from './acts.js'

const tags = ['Images']

const report = z
  .object({
    id: z.int(),
    at: z.iso.datetime(),
    reason: z.enum(Object.keys(REPORT_REASONS) as ReportReason[]),
    note: z.string().describe('Empty: none'),
    times: z
      .int()
      .describe('How many reports it stands for: beyond ten of an image, those for the same reason are only counted'),
  })
  .meta({ id: 'AdminImageReport' })
const listSchema = {
  operationId: 'listImageReports',
  tags,
  summary: 'Images with open reports of visitors',
  description:
    'The image with the newest report first. A report is open until it is dismissed or its image is taken down.',
  querystring: z.strictObject(field.page(1)),
  response: {
    200: z
      .object({
        images: z.array(
          z
            .object({
              slug: z.string(),
              username: z.string().describe('Whose image it is'),
              generation_id: z.string(),
              reports: z.array(report).describe('Newest first'),
            })
            .meta({ id: 'AdminReportedImage' }),
        ),
        next_cursor: field.nextCursor,
      })
      .meta({ id: 'AdminReportedImageList' }),
    ...personalRefusals(400),
  },
}

const dismissSchema = {
  operationId: 'dismissImageReports',
  tags,
  summary: 'Dismiss the open reports of an image, which stays',
  params: z.object({ slug: z.string().describe("The last part of the image's address") }),
  querystring: z.strictObject({
    up_to: field
      .queryInteger('up_to', { min: 1, max: 999_999_999_999_999 })
      .optional()
      .describe('The ID of the newest report that you have looked at: later ones stay open'),
  }),
  response: {
    200: z.object({ slug: z.string(), dismissed: z.int() }).meta({ id: 'AdminDismissedReports' }),
    ...personalRefusals(400, 404),
  },
}

export function reportRoutes(app: App, ports: ActPorts): void {
  const { imageReports } = ports.administration

  app.get('/reports', { schema: listSchema }, async ({ query: { limit, cursor: after } }) => {
    const { items, next } = await imageReports.list({ limit, after })
    const images = items.map(({ slug, username, generationId, reports }) => ({
      ...{ slug, username, generation_id: generationId },
      reports: reports.map((it) => viewOf(report, it)),
    }))
    return { images, next_cursor: field.cursorOf(next) }
  })

  app.delete('/reports/:slug', { schema: dismissSchema }, (request, reply) => {
    const { slug } = request.params
    return act(request, reply, ports, async (acting) => ({
      body: { slug, dismissed: await dismissReports(acting, slug, request.query.up_to) },
    }))
  })
}
