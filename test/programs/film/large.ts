/** The server's own time for each page of an account with ten thousand images and 200 folders. */
import { folderStore } from '../../../src/db/gallery/folders.js'
import { percentile } from '../bench/figures.js'
import { givenLargeAccount, IMAGES } from '../bench/large-account.js'
import type { Film } from './film.js'
import { check } from './person.js'
import type { Stage, Subscriber } from './stage.js'

const REQUESTS = 20
const WARM_UP = 5
/** For the median of a page. */
const GOAL_MS = 20
const IDEAS = 50
const SETTINGS = 50

export async function largeAccount(film: Film): Promise<void> {
  const { stage } = film
  const { pool } = stage.db
  const account = await stage.givenSubscriber()
  await pool.query(`UPDATE users SET role = 'operator' WHERE id = $1`, [account.id])
  const slugs = await givenLargeAccount(pool, { id: account.id, keyId: account.keyId })
  const headers = { accept: 'text/html', cookie: account.cookie }
  const post = async (path: string, body: Readonly<Record<string, string>>, status = 303) => {
    const sent = {
      method: 'POST',
      headers: { ...headers, 'sec-fetch-site': 'same-origin' },
      redirect: 'manual',
    } as const
    const answer = await fetch(stage.origin + path, { ...sent, body: new URLSearchParams(body) })
    check(answer.status === status, `POST ${path} was answered ${answer.status}.`)
  }
  await post('/playground/up-next', { do: 'pause' })
  const form = { prompt: 'a lighthouse at dusk, waves', model_version_id: '1', shape: '512x512', batch_size: '1' }
  for (let n = 0; n < IDEAS; n++) await post('/playground', { ...form, to: 'up-next', seed: `${n}` })
  for (let n = 0; n < SETTINGS; n++)
    await post('/playground/settings', { name: `settings ${n}`, style: '', settings: JSON.stringify(form) }, 200)
  const folders = await folderStore(stage.db).list(account.id)
  const folder = folders.find(({ name }) => name === 'folder 1')?.id

  /** Where one is after having scrolled through most of it. */
  const deep = async () => {
    let path = '/gallery'
    for (let n = 0; n < 4; n++) {
      const url = `${stage.origin}${path}${n > 0 ? '&count=2000' : ''}`
      const html = await (await fetch(url, { headers: n > 0 ? { ...headers, 'hx-request': 'true' } : headers })).text()
      path = (/class="more" hx-get="([^"]+)"/.exec(html)?.[1] ?? '').replaceAll('&amp;', '&')
      check(path !== '', 'The gallery ends too early.')
    }
    return path
  }
  const paths = [
    ...['/playground', `/playground?from=${slugs[IMAGES / 2]}`, '/gallery', await deep(), '/gallery?sort=oldest'],
    ...[
      '/gallery?q=number+50',
      '/gallery?q=zebra',
      '/gallery?model=10',
      '/gallery?shape=landscape',
      '/gallery?made=website',
    ],
    ...['/gallery?from=2020-01-01&to=2020-02-01', `/gallery?folder=${folder}`, `/gallery?folder=${folder}&sort=oldest`],
    ...[`/gallery?folder=${folder}&q=number+50`, '/gallery?folder=favourites', '/gallery/folders'],
    ...[`/image/${slugs[0]}`, `/image/${slugs[IMAGES / 2]}`, `/compare/${slugs[0]}/${slugs[IMAGES - 1]}`],
    ...['/account', '/usage', '/keys', '/webhooks', '/pricing', '/docs'],
    ...[
      '/operator',
      '/operator/users',
      `/operator/users/${account.username}`,
      '/operator/models',
      '/operator/models/10',
    ],
    ...['/operator/plans', '/operator/payments', '/operator/images', '/operator/images/removed', '/operator/reports'],
    ...['/operator/moderation', '/operator/log', '/operator/figures', '/operator/api'],
  ]
  for (const path of paths) {
    await requestsOf(stage, path, account, WARM_UP)
    const before = await stage.cpu()
    const times = await requestsOf(stage, path, account, REQUESTS)
    const cpu = ((await stage.cpu()) - before) * (1000 / REQUESTS)
    const median = percentile(times, 0.5)
    const page = path.replaceAll(/[0-9A-Za-z]{22}|[0-9a-f-]{36}|cursor=[^&]+/g, '…')
    film.row(`Pages of an account with ${IMAGES} images (goal: ${GOAL_MS} ms)`, {
      page,
      'median, ms': median.toFixed(1),
      'fastest, ms': Math.min(...times).toFixed(1),
      'slowest, ms': Math.max(...times).toFixed(1),
      'CPU, ms': cpu.toFixed(1),
      goal: median <= GOAL_MS ? '' : cpu > GOAL_MS ? 'missed' : 'missed while the machine was busy',
    })
    if (Math.min(median, cpu) > GOAL_MS) film.fault(`${page} takes ${median.toFixed(1)} ms.`)
  }
}

/** What each of some requests for a page took, one after the other, to its last byte. */
export async function requestsOf({ origin }: Stage, path: string, { cookie }: Subscriber, count: number) {
  const times: number[] = []
  for (let n = 0; n < count; n++) {
    const at = performance.now()
    const answer = await fetch(origin + path, { headers: { accept: 'text/html', cookie } })
    await answer.arrayBuffer()
    times.push(performance.now() - at)
    check(answer.status < 500, `${path} was answered ${answer.status}.`)
  }
  return times
}
