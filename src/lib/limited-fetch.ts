/**
 * `fetch` for servers of other people: a body of more than so many bytes, counted once it is unpacked, is cut off, and
 * reading it rejects. So neither an endless answer nor one that unpacks to gigabytes takes our memory.
 */
export const limitedFetch =
  (mostBytes: number): typeof fetch =>
  async (...request) => {
    const answer = await fetch(...request)
    const limited = new Response(answer.body?.pipeThrough(upTo(mostBytes)), answer)
    // For errors that name who answered.
    return Object.defineProperty(limited, 'url', { value: answer.url })
  }

function upTo(mostBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  return new TransformStream({
    transform(chunk, out) {
      bytes += chunk.byteLength
      if (bytes > mostBytes) throw new Error('its answer is too large')
      out.enqueue(chunk)
    },
  })
}
