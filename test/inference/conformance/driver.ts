import type { Sampler } from '../../../src/core/generations/generation.js'
import type {
  BackendErrorKind,
  Capabilities,
  InferenceRequest,
  MadeWith,
} from '../../../src/core/generations/run/backend.js'
import type { SwitchableServer } from '../../support/switchable-server.js'
import type { attached } from '../given.js'

/** What the suite must know of a backend to try it. */
export interface Driver {
  readonly name: string
  readonly given: (options?: GivenOptions) => Promise<Given>
  /** What it says that it has. */
  readonly offers: Partial<Capabilities>
  /** Of an image with the sampler dpmpp_2m_karras, or with euler_a if it has no other. */
  readonly madeWith: MadeWith & { readonly of: Sampler }
  /** The seeds of each call for a batch that goes up to the largest seed, and past it if the backend has all seeds. */
  readonly calls: readonly (readonly number[])[]
  /** What it draws alike whatever is asked. */
  readonly ignores?: readonly (keyof InferenceRequest)[]
}

/** The same of one that speaks to a server: how its stand-in is started, made to fail, held, and looked at. */
export interface ServerDriver extends Driver {
  readonly given: (options?: GivenOptions) => Promise<GivenServer>
  /** As in INFERENCE_URL. */
  readonly kind: string
  /** What its URL must end in. */
  readonly query?: string
  /** Of a call for images. */
  readonly callPath: string
  /** How a text arrives in which it would see the names of files to load; as it is, unless given. */
  readonly writes?: (text: string) => string
  /** A sampler that it does not have. */
  readonly lacks?: Sampler
  /** What of an answer can be wrong without the server's saying so; to what the stand-in is set for it. */
  readonly wrongs: Partial<Record<Wrong, string>>
  /** The status of an accepted call for images. */
  readonly accepts?: number
  /** What a faulty answer to a call for images means, if not what it means elsewhere; null: that it is drawn all the same. */
  readonly answers?: Partial<Record<string, BackendErrorKind | null>>
  /** Whether it tells how far an image is. */
  readonly tellsProgress: boolean
  /**
   * What an abort leaves when it is over: `nothing` on the server; nothing either, but the server notices it only by the
   * connection that was `hung up`; or a `job` that the server draws to its end.
   */
  readonly leaves: 'nothing' | 'hung up' | 'job'
  /** Whether the server has a queue that it shows: of one client's jobs, or `of all`, each of which can be canceled alone. */
  readonly queues?: 'of one' | 'of all'
}

export interface GivenOptions {
  readonly auth?: string
  readonly timeoutMs?: number
  readonly queueMs?: number
  readonly cancelGraceMs?: number
}

export type Wrong =
  | `another ${'size' | 'number of images' | 'seed' | 'model' | 'sampler' | 'number of steps'}`
  | 'a broken image'

/** What each stand-in can do to a request. */
export type Fault =
  | 'none'
  | 'hang'
  | 'drop'
  | 'drop_mid_reply'
  | 'garbage'
  | { readonly status: number; readonly body?: unknown }

interface Closable {
  readonly close: () => Promise<void>
}

interface StandIn extends Closable, Omit<SwitchableServer, 'server'> {
  readonly journal: readonly Entry[]
  readonly seen: (matches: (entry: Entry) => boolean) => Promise<unknown>
}

interface Entry {
  readonly path: string
  readonly headers: { readonly authorization?: string | undefined }
}

export type Given<S extends Closable = Closable> = ReturnType<typeof attached<S>>

export interface GivenServer extends Given<StandIn> {
  /** What the calls for images have asked for. */
  readonly asked: () => readonly Partial<InferenceRequest>[]
  /** Lets the questions what the server has, or the calls for images, fail. */
  readonly fail: (what: 'questions' | 'calls', fault: Fault) => void
  /** Lets it answer with something else than was asked for. */
  readonly drawWrong: (how: string) => void
  /** Whether an image that is begun stays undone. */
  readonly hold: (held: boolean) => void
  /** Resolves when it draws. */
  readonly begun: () => Promise<unknown>
  /** How many jobs it draws or has waiting. */
  readonly jobs: () => number
  /** Gives it a job as another client would. */
  readonly giveOther?: () => Promise<unknown>
  /** Stops the job that it draws as another client would. */
  readonly stopRunning?: () => Promise<unknown>
}
