/**
 * What an image before this one was handled in: megabytes that are new for each cost more to clear and collect than to
 * fill. As large as the largest image so far needed; one only, so the others of a batch get new memory.
 */
let spare = Buffer.alloc(0)

/** Lends `use` this many bytes, whatever is in them; they are somebody else's once it has ended. */
export async function withMemory<T>(bytes: number, use: (memory: Buffer) => Promise<T>): Promise<T> {
  const memory = spare.length < bytes ? Buffer.allocUnsafeSlow(bytes) : spare
  // Who asks meanwhile gets other memory.
  spare = Buffer.alloc(0)
  try {
    return await use(memory.subarray(0, bytes))
  } finally {
    if (memory.length > spare.length) spare = memory
  }
}
