export type Fault =
  | 'none'
  /** Takes the request and never answers. */
  | 'hang'
  /** Closes the connection instead of answering, or in the middle of the answer. */
  | 'drop'
  | 'drop_mid_reply'
  /** 200 with something that is not JSON. */
  | 'garbage'
  | 'out_of_memory'
  /** This status with this body. */
  | { readonly status: number; readonly body?: unknown }
  | DrawnWrong

/** Faults that only a drawn reply can have: 200, and not what was asked. */
export type DrawnWrong =
  | 'wrong_size'
  | 'wrong_count'
  | 'wrong_seeds'
  | 'wrong_model'
  | 'other_vae'
  | 'default_sampler'
  | 'black'
  | 'broken_image'
  /** A grid before the images and an extra one after them, as servers with such settings send. */
  | 'grid_and_extra'
  | 'data_urls'

export interface StandInSettings {
  fault: Fault
  /** How many more requests the fault hits. */
  times: number
  /** Which requests the fault hits. */
  scope: 'txt2img' | 'settings' | 'all'
  /** Only images with this sampler, by the server's name; null: any. */
  sampler: string | null
  /** GPU time per image. */
  latencyMs: number
  /** Whether an inference, or the one of that seed, comes no further than half its steps, until this is false again. */
  held: boolean | number
  /** What the progress shows while an image is drawn and someone asks for it, as base64. */
  currentImage: string | null
  /** Whether SD.Next could load the checkpoint of its configuration: until it has one, it looks at no other. */
  loaded: boolean
  /** What loading another checkpoint takes. */
  swapMs: number
}
