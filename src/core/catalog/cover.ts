/** The pictures of model versions. */
import type { ModelVersion } from './model-version.js'

/** Pictures that operators have uploaded: small WebPs, each under a hash of itself. */
export interface CoverStore {
  /** Undefined: no version has it any more. */
  read(name: string): Promise<Buffer | undefined>
}

/**
 * What an operator uploads, as a small WebP without metadata.
 * @throws Error where it is no PNG, JPEG or WebP, or is damaged
 */
export type EncodeCover = (image: Buffer) => Promise<Buffer>

/** The name of an uploaded picture. */
export const COVER_FILE = /^[0-9a-f]{32}\.webp$/
/** What is drawn for a version without a picture; another one whenever that looks otherwise, since browsers keep it. */
export const DRAWN_COVER = 'drawn-1.svg'

/** Where the website serves a version's picture; another path for each picture. */
export const coverPath = ({ id, cover }: Pick<ModelVersion, 'id' | 'cover'>): string =>
  `/covers/${id}/${cover ?? DRAWN_COVER}`
