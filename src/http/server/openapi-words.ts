/** What the descriptions of the APIs say in words of their own. */

/** The parts of the API, as its description groups them. A route without one of these tags is not described. */
export const TAGS = {
  Account: 'Who you are, your credits, and what may be asked for',
  Generations: 'Submit, follow and cancel generations, and look back on them',
  Images: 'The images of your account',
  Webhooks: 'Be told when something has ended',
  'Create Image': 'One image in one request',
} as const

/** The same of the administration's own document. */
export const ADMIN_TAGS = {
  Accounts: 'Who may generate, and what they are subscribed to',
  Credits: 'What accounts hold',
  Keys: 'API keys, and what was made with them',
  Plans: 'What subscriptions grant and allow',
  Packs: 'Credits that are sold',
  Payments: 'What was paid, and what could not be matched',
  Models: 'What is generated with',
  Generations: 'What was asked for, by whom, and what became of it',
  Queue: 'What waits and runs, and pausing it',
  Images: 'Images that are taken down',
  Moderation: 'Prompts that were refused',
  Log: 'What operators did, and what the audit found',
} as const

/** What each status means, on either interface. */
export const MEANINGS: Readonly<Record<string, string>> = {
  200: 'Done',
  201: 'Created',
  202: 'Accepted; it goes on without you',
  204: 'Done; no content',
  304: 'Not modified',
  400: 'The request is not valid, or the prompt was flagged by moderation',
  401: 'Missing or invalid API key',
  402: 'Not enough credits',
  403: 'No active subscription, or not available',
  404: 'Not found',
  409: 'A request with this Idempotency-Key is still being processed',
  412: 'It is not the one that `If-Match` names',
  413: 'The body is larger than 64 KiB',
  415: 'The body is not application/json',
  422: 'This Idempotency-Key was used with another body',
  429: 'A limit is reached; `Retry-After` says when to come back',
  500: 'The generation failed, or the server did',
  503: 'Temporarily unavailable; `Retry-After` says when to come back',
  504: 'The image was not ready in time',
}

/** Where it means something else to an operator. */
export const ADMIN_MEANINGS: typeof MEANINGS = {
  400: 'The request is not valid, or can not be done',
  401: 'Missing or invalid key',
  403: 'No operator key, or not in its scope',
  413: 'The body is too large',
  500: 'The server failed',
}
