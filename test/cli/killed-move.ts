import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { AnyImageStore } from '../../src/images/any-image-store.js'
import type { S3Server } from '../support/s3-server.js'
import { compiled } from '../support/services.js'
import { until } from '../support/until.js'

/** Files that the killed process may store; it copies eight images at once, each with its thumbnail. */
const FILES = 12
const AT_ONCE = 8
/** So many images are in the bucket at least when the process is killed. */
export const COPIED = FILES - AT_ONCE
/** So many would need more files. */
export const COPIED_AT_MOST = FILES / 2

/** Runs `easel storage move` as a process of its own, and kills it amid its work. */
export async function killMove(
  s3: S3Server,
  env: Readonly<Record<string, string>>,
  [from, to]: readonly [string, string],
  newer: Pick<AnyImageStore, 'all'>,
): Promise<void> {
  const stored = (await namesIn(newer)) + FILES
  let puts = 0
  s3.fault = ({ method, url }) =>
    method === 'PUT' && /\.(png|webp)\b/.test(`${url}`) && !url?.includes('.probe.') && ++puts > FILES
      ? 'handled'
      : 'pass'
  const killed = spawn(process.execPath, [await compiled('src/cli.ts'), 'storage', 'move', from, to], {
    env: { PATH: process.env.PATH, ...env },
    stdio: 'ignore',
  })
  await until(async () => (await namesIn(newer)) === stored, `${FILES} files in the bucket`)
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  s3.fault = undefined
}

async function namesIn(store: Pick<AnyImageStore, 'all'>): Promise<number> {
  let names = 0
  for await (const page of store.all()) names += page.length
  return names
}
