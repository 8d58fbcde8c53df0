// One for all tabs of a browser: it follows each event stream once, and passes on what comes to every tab that asked for it.

/** By address: who reads the stream, and the request for it. */
const streams = new Map()

addEventListener('connect', ({ ports: [tab] }) => {
  tab.addEventListener('message', ({ data: { url, headers }, ports: [reader] }) => join(url, headers, reader))
  tab.start()
  tab.postMessage('ready')
})

function join(url, headers, reader) {
  const stream = streams.get(url) ?? { readers: new Set(), asked: undefined, askedAt: 0, isOpen: false }
  streams.set(url, stream)
  stream.readers.add(reader)
  reader.addEventListener('message', () => {
    stream.readers.delete(reader)
    if (stream.readers.size > 0) return
    stream.asked?.abort()
    if (streams.get(url) === stream) streams.delete(url)
  })
  reader.start()
  // An answer begins with how things are now, which whoever comes later needs, too: so it is asked for anew, as what was never answered.
  if (!stream.asked || stream.isOpen || Date.now() - stream.askedAt > 30_000) void follow(url, headers, stream)
}

async function follow(url, headers, stream) {
  stream.asked?.abort()
  const asked = new AbortController()
  Object.assign(stream, { asked, askedAt: Date.now(), isOpen: false })
  const tell = (message) => {
    for (const reader of stream.readers) reader.postMessage(message)
  }
  let end = { end: true }
  try {
    const answer = await fetch(url, { headers, signal: asked.signal })
    stream.isOpen = true
    tell({ status: answer.status, headers: [...answer.headers] })
    if (answer.ok) await pass(answer.body, tell)
  } catch {
    end = { failed: true }
  }
  if (asked.signal.aborted) return
  streams.delete(url)
  tell(end)
}

/** Whole events only: a tab must be able to go on with those of the next request. */
async function pass(body, tell) {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    rest += decoder.decode(value, { stream: true })
    const end = rest.lastIndexOf('\n\n') + 2
    if (end < 2) continue
    tell({ text: rest.slice(0, end) })
    rest = rest.slice(end)
  }
}
