import { z } from 'zod'
import { WEBHOOK_EVENTS, type WebhookEvent } from '../../webhooks/webhook.js'
import { NOT_AN_OBJECT, optional } from '../fields.js'

const MAX_DESCRIPTION = 200
const EVENTS_ISSUE = `events must be an array of one or more of: ${WEBHOOK_EVENTS.join(', ')}.`

export const webhookBody = z.strictObject(
  {
    url: z
      .string({
        error: ({ input }) => (input === undefined || input === null ? 'url is required.' : 'url must be a string.'),
      })
      .describe('https, with a public address'),
    events: optional(
      z
        .array(z.enum(WEBHOOK_EVENTS, EVENTS_ISSUE), EVENTS_ISSUE)
        .min(1, EVENTS_ISSUE)
        .transform((events): readonly WebhookEvent[] => [...new Set(events)]),
      WEBHOOK_EVENTS,
    ),
    description: optional(
      z
        .string('description must be a string.')
        .max(MAX_DESCRIPTION, `description must be at most ${MAX_DESCRIPTION} characters.`)
        .refine(
          (text) => text.isWellFormed() && !text.includes('\0'),
          'description must be valid Unicode text without NUL characters.',
        ),
      '',
    ),
  },
  NOT_AN_OBJECT,
)

/** Any string: what is no ID is answered like one that is not found. */
export const webhookParams = z.object({ id: z.string().describe('The ID of the endpoint') })
