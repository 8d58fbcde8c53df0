/** Server-sent events as a subscriber reads them. */
import { until } from './until.js'

export interface ReceivedEvent {
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: whatever JSON came; the tests look at it
  readonly data: any
}

export interface EventSource {
  readonly status: number
  readonly headers: Headers
  readonly events: readonly ReceivedEvent[]
  readonly comments: readonly string[]
  readonly retryMs: number | undefined
  /** What the answer says when it is no stream. */
  readonly body: string
  /** Whether the server has ended it. */
  readonly ended: boolean
  /** Waits for an event of this name that fits. */
  seen(event: string, fits?: (data: ReceivedEvent['data']) => boolean): Promise<ReceivedEvent>
  close(): void
}

/** Opens a stream and reads it until either side closes. */
export async function openEvents(url: string, key: string, id: string): Promise<EventSource> {
  const gone = new AbortController()
  const response = await fetch(`${url}/api/v1/generate/${id}/events`, {
    headers: { authorization: `Bearer ${key}` },
    signal: gone.signal,
  })
  const events: ReceivedEvent[] = []
  const comments: string[] = []
  const source = { retryMs: undefined as number | undefined, ended: false, body: '' }

  const take = (block: string) => {
    const fields = block.split('\n').map((line) => /^([^:]*): ?(.*)$/.exec(line)?.slice(1) ?? ['', ''])
    const of = (name: string) => fields.find(([field]) => field === name)?.[1]
    const [comment, event, retry] = [of(''), of('event'), of('retry')]
    if (retry !== undefined) source.retryMs = Number(retry)
    if (event !== undefined) events.push({ event, data: JSON.parse(of('data') ?? 'null') })
    else if (comment !== undefined) comments.push(comment)
  }
  const read = async () => {
    const decoder = new TextDecoder()
    let rest = ''
    const reader = response.body?.getReader()
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
      rest += decoder.decode(part.value, { stream: true })
      const blocks = rest.split('\n\n')
      rest = blocks.pop() ?? ''
      blocks.forEach(take)
    }
    source.body = rest
    source.ended = true
  }
  const reading = read().catch(() => undefined)
  if (response.status !== 200) await reading

  return Object.assign(source, {
    status: response.status,
    headers: response.headers,
    events,
    comments,
    seen: (name: string, fits: (data: ReceivedEvent['data']) => boolean = () => true) =>
      until(() => events.find(({ event, data }) => event === name && fits(data)), `an event ${name}`),
    close: () => gone.abort(),
  })
}
