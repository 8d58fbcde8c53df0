/** A signal that aborts some time after `stop` has: for what a server must still be told then. */
export function windUp(
  stop: AbortSignal,
  graceMs: number,
): { readonly signal: AbortSignal; readonly clear: () => void } {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const begin = () => {
    timer = setTimeout(() => controller.abort(stop.reason), graceMs)
  }
  if (stop.aborted) begin()
  else stop.addEventListener('abort', begin, { once: true })
  return {
    signal: controller.signal,
    clear: () => {
      clearTimeout(timer)
      stop.removeEventListener('abort', begin)
    },
  }
}
