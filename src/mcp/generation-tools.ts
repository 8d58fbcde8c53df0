import type { ImageContent } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { type Caller, defaultModelFor, isAllowedModel } from '../core/accounts/account.js'
import { type ModelVersion, requireAvailable } from '../core/catalog/model-version.js'
import { AppError, invalidApiKey } from '../core/errors.js'
import { cancelGeneration } from '../core/generations/cancel.js'
import { CANCELED } from '../core/generations/failure-reason.js'
import { followToEnd } from '../core/generations/follow/follow.js'
import { hasEnded, type Polled, pollGeneration } from '../core/generations/follow/poll.js'
import type { Submission, Submitted } from '../core/generations/submit/ports.js'
import { submitGeneration } from '../core/generations/submit/submit.js'
import type { ViewableImage } from '../core/images/ports.js'
import { askedOf, DEFAULTS, modelVersionId, requestFields } from '../http/personal-api/generations/submit-schemas.js'
import * as field from '../http/shared/fields.js'
import * as drawing from '../http/shared/generation-fields.js'
import { idempotencyOf } from '../http/shared/idempotency-key.js'
import type { PersonalApiPorts } from '../http/shared/ports.js'
import { snakeCase } from '../lib/names.js'
import { credits } from './library-tools.js'
import { defineTool, READS, refusal, shown, type Tool, type ToolCall, type ToolResult } from './tool.js'

interface AgentPorts extends PersonalApiPorts {
  /** Undefined where an image cannot be made so small. */
  readonly scaleForModel: (png: Buffer, maxBytes: number) => Promise<ViewableImage | undefined>
}

export interface GenerationToolOptions {
  readonly ports: AgentPorts
  /** Aborts when this server must stop waiting. */
  readonly leaving: AbortSignal
  /** The website's page of an image. */
  readonly pageUrl: (slug: string) => string
}

/** Of all images of a result: as base64 they stay below 1 MB, which is as much as most clients take. */
const MAX_IMAGE_BYTES = 700_000
/** Most clients give a call up after 60 s and cancel it, and with it its generation: the answer is there before that. */
const MAX_WAIT_SECONDS = 50
const USUAL_WAIT_SECONDS = 45
const ANSWERED_WITHIN_MS = 55_000
const KEY_ISSUE = 'idempotency_key must be a text of 1 to 255 characters.'

const generation = z.object({
  id: z.string().describe('Goes into get_generation'),
  status: z.enum(['queued', 'processing', 'succeeded', 'failed']),
  queue_position: z.int().nullable().describe('While it is queued: 1 for the next one up'),
  progress: z.number().nullable().describe('While it is drawn: 0 to 1, where that is known'),
  seed: z.int().describe('Of the first image; image n uses seed + n. The same seed and request draw the same image'),
  images: z.array(
    z.object({ id: z.string(), url: z.string().describe('Permanent and public: the full PNG'), page_url: z.string() }),
  ),
  error: z.string().nullable().describe('Why it failed'),
})

const charged = generation.extend({
  model_version_id: z.int(),
  model_name: z.string(),
  credits_charged: z.int(),
  credits_left: z.int().nullable().describe('After the charge'),
})

const waitSeconds = (usual: number, description: string) =>
  field.withDefault(field.integer('wait_seconds', { min: 0, max: MAX_WAIT_SECONDS }).describe(description), usual)

const generateInput = field
  .body({
    ...drawing.fields,
    model_version_id: modelVersionId
      .nullish()
      .describe('An id of list_models. Without one: the default model of this server'),
    ...requestFields,
    idempotency_key: z
      .string(KEY_ISSUE)
      .regex(/\S/, KEY_ISSUE)
      .max(255, KEY_ISSUE)
      .nullish()
      .describe('Any text of your own. A repeat with the same key and request gets the first result, charged once'),
    wait_seconds: waitSeconds(USUAL_WAIT_SECONDS, 'Wait so long for the images; after that the result is an id'),
  })
  .refine(...drawing.fitsCanvas)

/** Submits, waits, and shows the images. */
export function generationTools({ ports, leaving, pageUrl }: GenerationToolOptions): Tool[] {
  const viewOfPolled = (now: Polled): z.output<typeof generation> => ({
    ...{ id: now.id, status: now.status, seed: now.seed, error: now.status === 'failed' ? now.error : null },
    queue_position: now.status === 'queued' ? now.queuePosition : null,
    progress: now.status === 'processing' ? (now.progress ?? null) : null,
    images:
      now.status === 'succeeded'
        ? now.slugs.map((slug) => ({ id: slug, url: ports.images.url(slug), page_url: pageUrl(slug) }))
        : [],
  })

  const viewed = async (slug: string, maxBytes: number) => {
    const png = await ports.files.read(slug)
    return png && ports.scaleForModel(png, maxBytes)
  }

  /** Beside the words and the data, what it came to: its images. */
  const resultOf = async <Data extends object>(
    { waiting, begun }: ToolCall,
    now: Polled,
    text: string,
    content: Data,
  ): Promise<ToolResult<Data>> => {
    const result = shown(text, content)
    if (now.status !== 'succeeded') return result
    waiting?.onlyWaits()
    const done = await waiting?.admitImages(ANSWERED_WITHIN_MS - (performance.now() - begun))
    if (!done) return shown(`${text}\n${NOT_SHOWN}`, content)
    const images: ImageContent[] = []
    let hint = ''
    // One after the other: scaling takes memory. What can't be shown now is still there, under its URL.
    for (const slug of now.slugs) {
      const it = await viewed(slug, MAX_IMAGE_BYTES / now.slugs.length).catch(() => undefined)
      if (it) images.push({ type: 'image', data: it.bytes.toString('base64'), mimeType: it.mimeType })
      if (it?.scaledDown) hint = '\nShown scaled down; the URL has the full PNG.'
    }
    done()
    return { ...result, content: [...images, { type: 'text' as const, text: text + hint }] }
  }

  const follow = async ({ caller, waiting, begun }: ToolCall, id: string, seconds: number): Promise<Polled> => {
    const first = await pollGeneration(ports, caller.account, id)
    // A slow submit takes from the time of its call.
    const left = seconds * 1000 - (performance.now() - begun)
    if (!waiting || left <= 0 || hasEnded(first)) return first
    const { canceled, gone, revoked, onlyWaits, report: tell } = waiting
    onlyWaits()
    tell(first)
    const now = await followToEnd(ports.following, first, tell, left, [canceled, gone, revoked, leaving])
    if (revoked.aborted) throw invalidApiKey()
    return now
  }

  /** Why it failed, and what was given back: not every operator gives back, and a developer key pays nothing. */
  const failureOf = async ({ caller }: ToolCall, { id, error }: Pick<Polled, 'id' | 'error'>): Promise<string> => {
    const { refunded = 0 } = (await ports.history.generation(caller.account.id, id)) ?? {}
    return `${error}${refunded > 0 ? ' The credits were given back.' : ''}`
  }

  const modelOf = async (caller: Caller, id: number | null | undefined): Promise<ModelVersion> => {
    if (typeof id === 'number') return requireAvailable(await ports.models.find(id), id)
    const usual = await ports.models.findDefault()
    if (usual && isAllowedModel(caller, usual.id)) return usual
    const own = defaultModelFor(caller, await ports.models.listEnabled(), undefined)
    if (own) return own
    throw new AppError('model_unavailable', 'No model is available for generation now. Try again later.')
  }

  const submit = async (input: z.output<typeof generateInput>, call: ToolCall): Promise<Submitted> => {
    const { caller, requestId, waiting } = call
    const { idempotency_key: ownKey, model_version_id: id, wait_seconds: _, ...fields } = input
    const { body } = drawing.completed(requestFields, fields, DEFAULTS)
    const asked = {
      lane: 'personal',
      requestId,
      ...askedOf(fields),
      model: () => modelOf(caller, id),
    } as const
    const submitUnder = (key: string | undefined) => {
      const hashed = { headers: { 'idempotency-key': key }, body: { ...body, model_version_id: id ?? undefined } }
      const submission: Submission = { ...asked, idempotency: idempotencyOf(hashed, 'mcp') }
      return submitGeneration(ports, caller, submission)
    }
    return submitUnder(ownKey ?? waiting?.requestKey).catch((error) => {
      const isMismatch = error instanceof AppError && error.code === 'idempotency_mismatch'
      // A client that numbers its requests from the start again: another request, not a repeat.
      if (isMismatch && !ownKey) return submitUnder(undefined)
      throw error
    })
  }

  return [
    defineTool({
      name: 'generate_image',
      title: 'Generate an image',
      description:
        'Draws 1 to 4 images from a text prompt, shows them and returns their permanent URLs. Costs credits, which come ' +
        'back if it fails or is canceled. One generation at a time. Describe subject, style, light and composition; ' +
        'put what to avoid into negative_prompt. Models have defaults and limits of their own, which list_models tells: ' +
        'leave out size, steps, cfg_scale and sampler unless others are wanted. If it takes longer than wait_seconds, the result is an id for ' +
        'get_generation.',
      input: generateInput,
      output: charged,
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
      mayWait: true,
      async run(input, call) {
        if (call.waiting?.canceled.aborted) return refusal(CANCELED)
        const submitted = await submit(input, call)
        call.concerns(submitted.id)
        const { id, cost, seed, modelName, creditsLeft, replayed } = submitted
        const now = await follow(call, id, input.wait_seconds).catch((error) => {
          if (error instanceof AppError && error.code === 'unauthorized') throw error
          // It is charged and goes on: a model that tried again would pay twice.
          const sentence = `The service is temporarily unavailable. ${goesOn(id)}`
          throw new AppError('unavailable', sentence, { generationId: id }, { cause: error })
        })
        if (call.waiting?.canceled.aborted && !hasEnded(now)) {
          await cancelGeneration(ports, id, CANCELED, { onlyQueued: false })
          return refusal(CANCELED)
        }
        if (now.status === 'failed') return refusal(await failureOf(call, now))
        const view = {
          ...viewOfPolled(now),
          ...{ model_version_id: submitted.modelVersionId, model_name: modelName },
          ...{ credits_charged: cost, credits_left: creditsLeft ?? null },
        }
        if (!hasEnded(now)) {
          const waited = input.wait_seconds === 0 ? 'Submitted.' : `Not ready after ${input.wait_seconds} s.`
          const why = leaving.aborted ? 'This server is restarting.' : waited
          return shown(`${why} ${goesOn(id)}`, view)
        }
        const price = replayed
          ? 'This request was made before: nothing was charged again.'
          : `${credits(cost)} charged, ${creditsLeft} left.`
        const vain = submitted.ignored.map(snakeCase).join(', ')
        const drawn = `Drawn with ${modelName}, seed ${seed} (${id}). ${price}${vain && ` Without effect on this model: ${vain}.`}`
        return resultOf(call, now, [drawn, ...view.images.map(({ url }) => url)].join('\n'), view)
      },
    }),
    defineTool({
      name: 'get_generation',
      title: 'Get a generation',
      description:
        'How a generation of this account stands, and its images once it has succeeded. Call it with the id of a ' +
        'generate_image that took too long, and with wait_seconds instead of asking again and again.',
      input: field.body({
        id: z.string(field.required('id is required.', 'id must be a string.')).describe('Such as gen_4c6t8w2r…'),
        wait_seconds: waitSeconds(0, 'If it still runs, wait so long for its end'),
      }),
      output: generation,
      annotations: READS,
      mayWait: true,
      async run({ id, wait_seconds: seconds }, call) {
        const now = await follow(call, id, seconds)
        call.concerns(now.id)
        const view = viewOfPolled(now)
        const urls = view.images.map(({ url }) => url)
        if (now.status === 'succeeded')
          return resultOf(call, now, [`${id} succeeded, seed ${now.seed}.`, ...urls].join('\n'), view)
        if (now.status === 'failed') return shown(`${id} failed: ${await failureOf(call, now)}`, view)
        return shown(`${stateOf(now)} ${goesOn(id)}`, view)
      },
    }),
  ]
}

const goesOn = (id: string) =>
  `The generation goes on: call get_generation with id "${id}" and wait_seconds ${USUAL_WAIT_SECONDS}.`

const NOT_SHOWN =
  'The images are not shown, because the server is showing too many others: open the URLs, or call get_generation later.'

/** Where it stands, for people. */
export function stateOf(now: Polled): string {
  if (now.status === 'queued') return now.queuePosition > 0 ? `Queued, place ${now.queuePosition}.` : 'Queued.'
  if (now.status !== 'processing') return now.status
  return now.progress === undefined ? 'Drawing.' : `Drawing, ${Math.round(now.progress * 100)} %.`
}
