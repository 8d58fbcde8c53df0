import { FormData } from 'undici'
import { timeLimit } from '../../abort-signals.js'
import type { ServerHttp } from '../server-http.js'
import { savedImages } from './pictures.js'
import { readHistory } from './prompt-history.js'

const ERASE_MS = 2_000

/**
 * Leaves nothing of a prompt that has ended on the server: its pictures are replaced by empty files, since none can be
 * deleted, and its entry in the history, which has the texts, goes. Never fails: what can't be done is left to the
 * server's next start, when it clears what is temporary.
 */
export async function eraseTraces(http: ServerHttp, promptId: string, signal: AbortSignal): Promise<void> {
  const limit = timeLimit(signal, ERASE_MS)
  try {
    const entry = await readHistory(http, promptId, limit.signal)
    const files = Object.values(entry?.outputs ?? {}).flatMap(
      (output) => savedImages.safeParse(output).data?.images ?? [],
    )
    for (const { filename, subfolder, type } of files) {
      const form = new FormData()
      form.append('image', new Blob([]), filename)
      for (const [name, value] of Object.entries({ subfolder, type, overwrite: 'true' })) form.append(name, value)
      await http.post('/upload/image', form, limit.signal)
    }
    await http.post('/history', { delete: [promptId] }, limit.signal)
  } catch {
    // As said above.
  } finally {
    limit.clear()
  }
}
