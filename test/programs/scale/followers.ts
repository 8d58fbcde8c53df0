/**
 * Those who wait, in a process of their own: keeps event streams open, each of another generation. When one ends, the
 * next one is opened.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { until } from '../../support/until.js'

interface Followed {
  readonly id: string
  readonly key: string
}

interface FollowersSetup {
  /** The servers, which the streams are shared among. */
  readonly urls: readonly string[]
  /** In the order in which they are followed. */
  readonly followed: readonly Followed[]
  /** How many streams are open at once. */
  readonly open: number
}

export interface Followings {
  readonly open: number
  /** Streams that told the end. */
  readonly ended: number
  /** Streams that were refused, or broke off. */
  readonly broken: number
  readonly bytes: number
}

/** How many streams are being opened at once. */
const OPENING = 50
const END = 'event: end'

/** Starts the process; resolves when all streams are open. */
export async function startFollowers(setup: FollowersSetup) {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), ['follow'], { serialization: 'advanced' })
  child.send(setup)
  const count = async (): Promise<Followings> => {
    child.send('count')
    const [counted] = (await once(child, 'message')) as [Followings]
    return counted
  }
  const areOpen = async () => {
    const { open, broken } = await count()
    if (broken > 0) throw new Error(`${broken} of ${setup.open} event streams could not be opened`)
    return open >= setup.open
  }
  await until(areOpen, 'all event streams to be open', 240_000)
  return { count, stop: () => void child.kill('SIGKILL') }
}

function follow({ urls, followed, open }: FollowersSetup, counts: { -readonly [Name in keyof Followings]: number }) {
  const targets = urls.map((url) => new URL(url))
  let next = 0
  let opening = 0

  const openMore = () => {
    while (opening < OPENING && counts.open + opening < open && next < followed.length) openOne(next++)
  }
  const openOne = (n: number) => {
    const { id, key } = followed[n] as Followed
    const { host, hostname, port } = targets[n % targets.length] as URL
    const socket = connect({ host: hostname, port: Number(port) })
    let state: 'opening' | 'open' | 'closed' = 'opening'
    let tail = ''
    opening++
    const close = (how: 'ended' | 'broken') => {
      if (state === 'closed') return
      if (state === 'open') counts.open--
      else opening--
      state = 'closed'
      counts[how]++
      socket.destroy()
      openMore()
    }
    socket.on('connect', () =>
      socket.write(
        `GET /api/v1/generate/${id}/events HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${key}\r\n\r\n`,
      ),
    )
    socket.on('error', () => close('broken')).on('close', () => close('broken'))
    socket.on('data', (chunk) => {
      counts.bytes += chunk.length
      const text = tail + chunk.toString('latin1')
      tail = text.slice(-END.length)
      if (state === 'opening') {
        if (!text.startsWith('HTTP/1.1 200')) return close('broken')
        state = 'open'
        opening--
        counts.open++
        openMore()
      }
      if (text.includes(END)) close('ended')
    })
  }
  openMore()
}

if (process.argv[2] === 'follow') {
  const counts = { open: 0, ended: 0, broken: 0, bytes: 0 }
  process.on('disconnect', () => process.exit())
  process.on('message', (message: FollowersSetup | 'count') => {
    if (message === 'count') process.send?.({ ...counts })
    else follow(message, counts)
  })
}
