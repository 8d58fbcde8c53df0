/** The file of an image as the world gets it, whatever store holds it. */
import type { Readable } from 'node:stream'

/** What a client asks for, in the words of HTTP. */
export interface FileRequest {
  /** As IMAGE_FILE has it. */
  readonly name: string
  /** It wants no body. */
  readonly head: boolean
  readonly range?: string | undefined
  readonly ifMatch?: string | undefined
  readonly ifUnmodifiedSince?: string | undefined
  readonly ifNoneMatch?: string | undefined
  readonly ifModifiedSince?: string | undefined
}

/** A file in a directory, or the answer of an object store. */
export type PublicFile =
  | { readonly directory: string }
  | {
      readonly status: 200 | 206 | 304 | 412 | 416
      readonly headers: Readonly<Record<string, string>>
      readonly body?: Readable | undefined
    }

/** Resolves to undefined when there is no such file; rejects while the store is away. */
export type OpenPublicFile = (request: FileRequest) => Promise<PublicFile | undefined>
