export type Fault =
  | 'none'
  | 'hang'
  | 'drop'
  /** Does what was asked, and closes the connection instead of answering. */
  | 'drop_answer'
  /** Does what was asked, and closes the connection in the middle of the answer. */
  | 'drop_mid_reply'
  /** Does what was asked, but not before the fault is over. */
  | 'late'
  /** Does what was asked at once, but answers when the fault is over. */
  | 'late_answer'
  /** 200 with something that is not JSON. */
  | 'garbage'
  /** This status with this body. */
  | { readonly status: number; readonly body?: unknown }

/** What goes wrong while a prompt runs: it ends with an error, or its images are not what was asked. */
export type RunFault =
  | 'none'
  | 'out_of_memory'
  | 'corrupt_checkpoint'
  | 'no_text_encoder'
  | 'exception'
  /** An error that repeats the word it could not encode. */
  | 'text_exception'
  | 'wrong_size'
  /** Its model draws in multiples of 16: other sizes are rounded down. */
  | 'sizes_of_16'
  | 'same_image'
  /** Its numbers overflowed. */
  | 'black_image'
  | 'broken_image'
  | 'no_file'
  | 'two_files'
  /** An extension changed the seed before the run. */
  | 'other_seed'
  /** This exception in the node of this class. */
  | { readonly node: string; readonly type: string; readonly message: string }

/** `silent`: it opens and nothing comes; `dies`: it is cut in the middle of each prompt. */
export type SocketFault = 'none' | 'refused' | 'silent' | 'dies' | RawSocket

/** It opens with these extensions, and these bytes come. */
export interface RawSocket {
  readonly extensions: string
  readonly bytes: Buffer
}

export interface StandInSettings {
  fault: Fault
  /** How many more requests the fault hits. */
  times: number
  /** The fault hits what begins with this, as in `POST /prompt`; empty: everything but the WebSocket. */
  on: string
  run: RunFault
  socket: SocketFault
  /** GPU time per image. */
  latencyMs: number
  /** Whether an image, or the one of that seed, comes no further than half its steps, until this is false again. */
  held: boolean | number
}
