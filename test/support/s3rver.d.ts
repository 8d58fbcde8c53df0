/** What we use of s3rver, which brings no types. */
declare module '@20minutes/s3rver' {
  import type { RequestListener } from 'node:http'

  interface StoredObject {
    readonly bucket: string
    readonly key: string
    /** The request, whose body it is. */
    content: unknown
    readonly metadata: Readonly<Record<string, string>>
  }

  export default class S3rver {
    constructor(options: {
      readonly directory: string
      readonly silent: boolean
      readonly allowMismatchedSignatures: boolean
      readonly configureBuckets: readonly { readonly name: string }[]
    })
    readonly store: {
      putObject(object: StoredObject): Promise<{ md5: string; size: number }>
      deleteObject(bucket: string, key: string): Promise<void>
      getResourcePath(bucket: string, key: string, resource: string): string
      putMetadata(bucket: string, key: string, metadata: object, md5: string): Promise<void>
      putBucket(bucket: string): Promise<unknown>
    }
    readonly logger: { readonly exceptions: { unhandle(): void }; close(): void }
    callback(): RequestListener
  }
}
