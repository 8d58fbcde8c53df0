import { startSwitchableServer } from './switchable-server.js'

/** A moderation endpoint that flags nothing, and does first what the test wants, such as to wait or to fail. */
export async function startHeldModeration() {
  let first: () => Promise<void> = async () => undefined
  const { url, refuse, accept } = await startSwitchableServer(async (_request, response) => {
    await first()
    response.end(JSON.stringify({ results: [{ flagged: false, categories: {} }] }))
  })
  return {
    url: `${url}/v1/moderations`,
    before(work: () => Promise<void> = async () => undefined): void {
      first = work
    },
    /** It goes away, until `accept`. */
    refuse,
    accept,
  }
}
