/** The port to a GPU inference server. Adapters live in inference/, one file per kind of server. */
import type { GenerationParameters, Sampler } from '../generation.js'

/** A server that takes longer to say what it serves counts as down. */
export const CAPABILITIES_WITHIN_MS = 4000

export interface InferenceRequest extends GenerationParameters {
  /** Lower-case UUID, new with each attempt: A1111's force_task_id, ComfyUI's prompt_id. */
  readonly attemptId: string
  /** The generation and its attempt, `gen_…-2`: for servers that show who sent a request. */
  readonly attempt: string
  /** The model file, or a definition of the model (core/catalog/model-definition.ts). */
  readonly model: string
  /** One per image. */
  readonly seeds: readonly number[]
}

export interface InferredImage {
  /** An encoded image (PNG, JPEG or WebP), not yet checked or stripped of metadata. */
  readonly bytes: Buffer
  readonly seed: number
  readonly madeWith: MadeWith
  /** Where it is not the size that was asked for, because the model's definition scales it. */
  readonly size?: Pick<GenerationParameters, 'width' | 'height'> | undefined
}

/** How a server was asked for an image, in its own terms, so that a person can reproduce it elsewhere. */
export interface MadeWith {
  /** The kind of server, never its address: `a1111`, `sdnext`, `sdcpp`, `comfyui`, `openai`, `preview`. */
  readonly backend: string
  readonly version: string | null
  readonly sampler: string
  /** The noise schedule; null where it is part of the sampler, or not the client's to choose. */
  readonly scheduler: string | null
  /** The definition of the model, where it has one: `name` is its file name, `flux-dev@3`. */
  readonly definition?: { readonly name: string; readonly hash: string } | undefined
}

export interface Capabilities {
  /** Checkpoint file names the server can load, and the definitions it can draw with; null when it draws with any (preview). */
  readonly models: readonly string[] | null
  /** By definition that it cannot draw with: what it lacks, a sentence each, for the operator. */
  readonly lacks?: ReadonlyMap<string, readonly string[]> | undefined
  /** File names that cannot be requested, because several checkpoints have them. */
  readonly ambiguous?: readonly string[]
  readonly samplers: readonly Sampler[]
  /** The largest seed the server keeps; a generation with a larger one is not given to it. */
  readonly maxSeed: number
  /** Widths and heights must be multiples of this many pixels; the server would round others. */
  readonly sizeMultiple: number
  /** The largest cfg_scale the server takes; undefined: any that the API offers. */
  readonly maxCfgScale?: number | undefined
}

export interface InferenceOptions {
  /** Aborts the inference: cancel on the server as far as it can (at most 5 s), then throw `canceled`. */
  readonly signal: AbortSignal
  /** How many other requests the server runs first; 0: it now draws this one. Not called if the server does not say. */
  readonly onWaiting?: (before: number) => void
  /** Fraction done, 0 to 1, never falling within an attempt. */
  readonly onProgress?: (progress: number) => void
  /** An encoded preview, if the server has one; at any rate. */
  readonly onPreview?: (image: Buffer) => void
  /** Everything is drawn, only the answer is still on its way: the server can take its next request. */
  readonly onDrawn?: () => void
  /**
   * Resolves when the request before this one is drawn, which the server still draws when it gets this one: for a server
   * that `queues`. This one waits until `onWaiting` says otherwise.
   */
  readonly after?: Promise<void> | undefined
  /** Whether that attempt has ended or was replaced, so that the server's work for it is canceled; false if unknown. */
  readonly hasEnded?: (attempt: string) => Promise<boolean>
}

/**
 * One inference server, used for one inference at a time: the next one begins after `onDrawn`, or after `generate`, unless
 * the server `queues`.
 */
export interface InferenceBackend {
  /** For logs and the operator: the server's address without credentials, e.g. `a1111+http://gpu1:7860`. */
  readonly name: string
  /** Also the health probe. @throws BackendError `unavailable` if unreachable, `auth` or `unusable` if it refuses */
  capabilities(signal: AbortSignal): Promise<Capabilities>
  /** Whether the server takes a request while it draws another, draws them in their order, and cancels each by itself. */
  readonly queues?: () => boolean
  /** Draws exactly `seeds.length` images of the asked size. @throws BackendError, always and only */
  generate(request: InferenceRequest, options: InferenceOptions): Promise<InferredImage[]>
  /** What an operator should mend on the server, although it draws; a clause each. @throws BackendError */
  readonly advice?: (signal: AbortSignal) => Promise<readonly string[]>
  close(): Promise<void>
}

const SERVER_FAULTS = ['unavailable', 'busy', 'auth', 'unusable', 'lost'] as const
/** After these another backend may do better. */
export const BACKEND_FAULTS = [
  ...SERVER_FAULTS,
  'timeout',
  'oom',
  'backend_fault',
  'bad_output',
  'model_missing',
  'invalid_request',
  'unsupported',
] as const

/**
 * - `unavailable`, `busy`, `auth`: the server's fault; costs the generation no try, and the backend is left alone until
 *   it answers again. If it then finishes others, or that goes on for minutes, all but `busy` cost tries
 * - `lost`: likewise, but the connection broke, or a proxy gave up, while the server was asked to draw; costs tries from
 *   the third time on
 * - `unusable`: likewise; the server answers, but is of another kind or set up for something else
 * - `timeout`, `oom`, `backend_fault`, `bad_output`: the generation's fault; costs one of its three tries. If several
 *   accounts' generations end with one of the last two in a row, it is the fault of the model or the sampler that they
 *   share, which is left out for a while, or of the server if they share neither
 * - `model_missing`: costs no try; if it is so for generations of two accounts, the server is not asked for that model for
 *   a while. If one finds it again, it costs tries
 * - `invalid_request`, `unsupported`: trying again cannot help, except on another backend; costs a try if there is one
 * - `canceled`: by us
 */
export type BackendErrorKind = (typeof BACKEND_FAULTS)[number] | 'canceled'

export const isServerFault = (error: unknown): error is BackendError =>
  error instanceof BackendError && SERVER_FAULTS.some((kind) => kind === error.kind)

/** The server refuses until the operator changes it, or its entry in INFERENCE_URL. */
export const isBackendRefusal = (error: unknown): boolean =>
  error instanceof BackendError && (error.kind === 'auth' || error.kind === 'unusable')

/** `message` is for logs and may name hosts and paths; `publicMessage` is one sentence a subscriber understands. */
export class BackendError extends Error {
  readonly kind: BackendErrorKind
  readonly publicMessage: string

  constructor(kind: BackendErrorKind, message: string, publicMessage: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'BackendError'
    this.kind = kind
    this.publicMessage = publicMessage
  }
}
