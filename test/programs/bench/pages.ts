import { hashToken, newToken } from '../../../src/core/accounts/session.js'
import { sessionStore } from '../../../src/db/accounts/sessions.js'
import { folderStore } from '../../../src/db/gallery/folders.js'
import { type Bench, ROUNDS } from './bench.js'
import { percentile } from './figures.js'
import { givenLargeAccount, IMAGES } from './large-account.js'

/** Of each page in a round. */
const REQUESTS = 40

/** What a page of the website takes, asked one after the other, where one account has ten thousand images and 200 folders. */
export async function benchPages({ stack, nextUser, figures, wanted }: Bench): Promise<void> {
  if (!wanted('page')) return
  const { pool } = stack.db
  const { id, keyId } = nextUser()
  const slugs = await givenLargeAccount(pool, { id, keyId })
  const [folder] = await folderStore(stack.db).list(id)
  const token = newToken()
  await sessionStore(stack.db).begin(id, hashToken(token), 'bench')
  const headers = { accept: 'text/html', cookie: `easel=${token}` }
  const pages = {
    '/gallery': '/gallery',
    '/gallery, a search': '/gallery?q=number+50',
    '/gallery, nothing found': '/gallery?q=zebra',
    '/gallery, a folder': `/gallery?folder=${folder?.id}`,
    '/gallery, oldest first': '/gallery?sort=oldest',
    '/playground': '/playground',
    '/keys': '/keys',
    '/account': '/account',
    '/image': `/image/${slugs[IMAGES / 2]}`,
  }
  for (const [name, path] of Object.entries(pages)) {
    const times: number[] = []
    // The first round only warms up.
    for (let n = -REQUESTS; n < REQUESTS * ROUNDS; n++) {
      const at = performance.now()
      const answer = await fetch(stack.url + path, { headers })
      const html = await answer.text()
      if (answer.status !== 200 || !html.includes('Sign out')) throw new Error(`${path} was answered ${answer.status}`)
      if (n >= 0) times.push(performance.now() - at)
    }
    figures.add(`page ${name}, 10,000 images, p50 ms`, percentile(times, 0.5))
    figures.add(`page ${name}, 10,000 images, p99 ms`, percentile(times, 0.99))
  }
}
