/** A generation that no live backend can serve; what it lacks. */
export type Lacking = 'model' | 'sampler' | 'seed' | 'size' | 'cfg_scale'

/** `%` stands for the model's name, the sampler, the seed, the size or the cfg_scale. */
export const LACKING: Readonly<Record<Lacking, string>> = {
  model: 'The model "%" is not loaded on any GPU server at the moment. Choose another model.',
  sampler: 'The sampler "%" is not available on the GPU servers. Choose another sampler.',
  seed: 'The seed % is larger than the GPU servers can keep. Choose a seed up to 2147483644.',
  size: 'The size % is not available on the GPU servers. Choose a width and a height that are multiples of 64.',
  cfg_scale: 'The cfg_scale % is not available on the GPU servers. Choose one up to 20.',
}

/** What the backends can do that are alive; at most a second old. */
export interface Abilities {
  /** Whether some draw with the model and none of those has the sampler. Unknown, as while none is alive, is false. */
  lackSampler(filename: string, sampler: string): Promise<boolean>
}
