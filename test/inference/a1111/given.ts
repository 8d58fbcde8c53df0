import { type A1111Options, createA1111Backend } from '../../../src/inference/a1111/a1111-backend.js'
import { type StandInOptions, startA1111StandIn } from '../../stand-ins/a1111/a1111-stand-in.js'
import { attached } from '../given.js'

export async function givenBackend(standInOptions: StandInOptions = {}, options: Partial<A1111Options> = {}) {
  const standIn = await startA1111StandIn(standInOptions)
  const times = { timeoutMs: 60_000, progressIntervalMs: 10, cancelGraceMs: 60_000 }
  return attached(standIn, createA1111Backend(standIn.inferenceUrl, { ...times, ...options }))
}

export const isTxt2img = ({ path }: { readonly path: string }) => path === '/sdapi/v1/txt2img'
