import { z } from 'zod'
import { WEBHOOK_EVENTS, type WebhookEvent } from '../../webhooks/webhook.js'
import { NOT_AN_OBJECT, optional, queryInteger } from '../fields.js'

const MAX_DESCRIPTION = 200
const EVENTS_ISSUE = `events must be an array of one or more of: ${WEBHOOK_EVENTS.join(', ')}.`
const MAX_SEQ_DIGITS = 15

export interface NewWebhook {
  readonly url: string
  readonly description: string
  readonly events: readonly WebhookEvent[]
}

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

const CURSOR_ISSUE = 'cursor must be the next_cursor of an earlier answer.'

/** A cursor is the seq of the last entry that was shown, in a form that nobody takes for a number to count with. */
export const cursorOf = (seq: number): string => Buffer.from(`d${seq}`).toString('base64url')

export const deliveriesQuery = z.strictObject({
  limit: queryInteger('limit', 1, 100, 20),
  cursor: z
    .string(CURSOR_ISSUE)
    .max(100, CURSOR_ISSUE)
    .transform(
      (text) => new RegExp(`^d(\\d{1,${MAX_SEQ_DIGITS}})$`).exec(Buffer.from(text, 'base64url').toString())?.[1],
    )
    .refine((digits) => digits !== undefined, CURSOR_ISSUE)
    .transform(Number)
    .optional()
    .meta({ type: 'string' }),
})
