import { lengthOf } from '../core/images/image-bytes.js'

/**
 * Where the pieces before these were put together: megabytes that are new for each image cost more to clear and collect
 * than to fill. As large as the largest image so far needed; one only, so the others of a batch get new memory.
 */
let spare = Buffer.alloc(0)

/** Lends `use` the pieces as one buffer, which is somebody else's once `use` has ended. */
export async function withConcatenated<T>(pieces: readonly Buffer[], use: (whole: Buffer) => Promise<T>): Promise<T> {
  const length = lengthOf(pieces)
  const memory = spare.length < length ? Buffer.allocUnsafeSlow(length) : spare
  // Who asks meanwhile gets other memory.
  spare = Buffer.alloc(0)
  try {
    let at = 0
    for (const piece of pieces) at += piece.copy(memory, at)
    return await use(memory.subarray(0, length))
  } finally {
    if (memory.length > spare.length) spare = memory
  }
}
