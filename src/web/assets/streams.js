// An event stream holds a connection, and without HTTP/2 a browser has six for a host, in all tabs together. So all tabs share one
// stream: a worker of them all follows it. A browser without such workers follows streams only in tabs that are seen.
;(() => {
  const own = window.fetch.bind(window)
  const isStream = (url) => /^\/playground\/[^/]+\/events$/.test(new URL(url, location.href).pathname)
  /** What ends the streams of this page. */
  const open = new Set()

  /**
   * Calls `end` where nothing has been heard for longer than the server is ever silent, which is 15 s: after sleep, or behind a proxy that
   * died, a connection is dead and nobody says so.
   */
  const watch = (end) => {
    let heardAt = Date.now()
    const timer = setInterval(() => {
      if (Date.now() - heardAt < 50_000) return
      clearInterval(timer)
      end()
    }, 5000)
    return { heard: () => (heardAt = Date.now()), stop: () => clearInterval(timer) }
  }

  let worker
  /** The port of the worker; undefined: there is none. */
  const workerPort = () => {
    worker ??= new Promise((resolve) => {
      try {
        const { content } = document.querySelector('meta[name=stream-worker]')
        const started = new SharedWorker(content)
        started.addEventListener('error', () => resolve())
        started.port.addEventListener('message', () => resolve(started.port), { once: true })
        started.port.start()
        setTimeout(resolve, 5000)
      } catch {
        resolve()
      }
    })
    return worker
  }

  /** An answer as of fetch, made of what the worker passes on. */
  const shared = (port, url, { headers, signal }) =>
    new Promise((resolve, reject) => {
      const { port1: reader, port2 } = new MessageChannel()
      const encoder = new TextEncoder()
      let controller
      const leave = () => {
        open.delete(end)
        silence.stop()
        reader.postMessage('leave')
        reader.close()
      }
      const end = () => {
        leave()
        try {
          controller?.close()
        } catch {}
        reject(new TypeError('The stream was given up.'))
      }
      const silence = watch(end)
      open.add(end)
      signal?.addEventListener('abort', () => {
        leave()
        const aborted = new DOMException('The request was given up.', 'AbortError')
        try {
          controller?.error(aborted)
        } catch {}
        reject(aborted)
      })
      reader.addEventListener('message', ({ data }) => {
        silence.heard()
        if (data.failed && !controller) {
          leave()
          reject(new TypeError('The server cannot be reached.'))
        } else if (data.text) controller?.enqueue(encoder.encode(data.text))
        else if (!data.status || (controller && data.status !== 200)) end()
        else if (!controller) {
          const { status } = data
          const body = new ReadableStream({ start: (it) => (controller = it), cancel: leave })
          resolve(new Response(status === 200 ? body : null, { status, headers: data.headers }))
          if (status !== 200) leave()
        }
      })
      reader.start()
      const { href } = new URL(url, location.href)
      port.postMessage({ url: href, headers: Object.fromEntries(new Headers(headers)) }, [port2])
    })

  /** Begins when the page is seen, and ends when it is hidden: who asked then asks again. */
  async function whileSeen(url, { signal, ...options }) {
    const isSeen = () => document.visibilityState === 'visible'
    const change = () =>
      new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }))
    while (!isSeen()) await change()
    const hidden = new AbortController()
    const end = () => hidden.abort()
    // htmx gives a request up after a minute, also while nobody sees the page: that ends nothing.
    if (!signal?.aborted) signal?.addEventListener('abort', end)
    void change().then(end)
    const silence = watch(end)
    try {
      const answer = await own(url, { ...options, signal: hidden.signal })
      const heard = new TransformStream({
        transform(part, controller) {
          silence.heard()
          controller.enqueue(part)
        },
        flush: silence.stop,
      })
      return new Response(answer.body?.pipeThrough(heard), answer)
    } catch (error) {
      silence.stop()
      throw error
    }
  }

  window.fetch = async (url, options = {}) => {
    if (!isStream(url)) return own(url, options)
    const port = await workerPort()
    return port ? shared(port, url, options) : whileSeen(url, options)
  }
  // A page that a step back may show again connects anew then.
  addEventListener('pagehide', () => {
    for (const end of [...open]) end()
  })
})()
