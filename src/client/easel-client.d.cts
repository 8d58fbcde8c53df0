/** The types for CommonJS, in which Node requires the ES module itself; copied as they are. */
import type * as client from './easel-client.js' with { 'resolution-mode': 'import' }

export type {
  components,
  Easel,
  EaselOptions,
  Generated,
  GeneratedImage,
  GenerateOptions,
  operations,
  Progress,
  Prompt,
  paths,
} from './easel-client.js' with { 'resolution-mode': 'import' }

export declare const createEasel: typeof client.createEasel
export declare const EaselError: typeof client.EaselError
export type EaselError = client.EaselError
