import { z } from 'zod'
import { whenAborted, withTimeLimit } from '../../lib/abort-signals.js'
import { failure } from '../backend-failure.js'
import { samplersOf } from '../samplers.js'
import type { Asked } from '../server-backend.js'
import type { ServerHttp } from '../server-http.js'
import { jsonReply, replyFailure } from '../server-reply.js'
import { listOf } from './listing.js'
import type { WithFiles } from './server-files.js'

export const PROGRESS_PATH = '/sdapi/v1/progress?skip_current_image=true'

/** A checkpoint as the server lists it. */
export interface ServerModel {
  /** The file's base name: what the catalog calls it. */
  readonly filename: string
  /** What to send as `sd_model_checkpoint`: the title, which ends in the hash once that is known. */
  readonly title: string
  /** Every name under which a reply may report this checkpoint. */
  readonly reportedAs: readonly string[]
  readonly hash: string | undefined
}

/** A server's kind and what it has. */
export type A1111Server = Awaited<ReturnType<typeof discover>> & Pick<WithFiles, 'files'>

/** One txt2img call; its seeds are consecutive. */
export type A1111Asked = Asked<A1111Server, ServerModel>

const text = z.string().nullish()
const listedModel = z.object({ filename: z.string().min(1), title: text, model_name: text, hash: text })
const listedName = z.object({ name: z.string(), label: text })

/** stable-diffusion.cpp's stand-in for a hash that it doesn't compute. */
const NO_HASH = '8888888888'
const MODEL_EXTENSION = /\.(safetensors|ckpt|gguf|sft|pth?|bin)$/i

const withoutFolder = (path: string) => path.replace(/^.*[\\/]/, '')

/** A checkpoint's name without folder, hash and ending, as replies write it (SD.Next drops commas and colons). */
export const bareName = (name: string) =>
  withoutFolder(name.replace(/ \[[0-9a-f]+\]$/, ''))
    .replace(MODEL_EXTENSION, '')
    .replace(/[,:]/g, '')

function toModel({ filename: path, model_name, title, hash }: z.infer<typeof listedModel>): ServerModel {
  const filename = withoutFolder(path)
  const names = [filename, model_name, title].flatMap((name) => (name ? [bareName(name)] : []))
  return { filename, title: title || model_name || filename, reportedAs: [...new Set(names)], hash: hash ?? undefined }
}

/** Omits files that share a name, because a reply, which has no folder, could not show which of them drew. */
function unambiguousModels(listed: readonly z.infer<typeof listedModel>[]) {
  const filenames = [...new Set(listed.map(({ filename }) => filename))].map(withoutFolder)
  const ambiguous = new Set(filenames.filter((name) => filenames.indexOf(name) !== filenames.lastIndexOf(name)))
  return { models: listed.map(toModel).filter(({ filename }) => !ambiguous.has(filename)), ambiguous: [...ambiguous] }
}

/**
 * Recognizes a server by what only its kind does: SD.Next's progress has an `id`; A1111 has /schedulers from 1.9 on.
 * stable-diffusion.cpp, which lists its own method names, is refused: through this API it silently goes on drawing what
 * was canceled, and keeps no large seed.
 * @throws BackendError
 */
async function discover(http: ServerHttp, signal: AbortSignal) {
  const [modelsReply, samplersReply, schedulersReply, progressReply] = await Promise.all([
    http.get('/sdapi/v1/sd-models', signal),
    http.get('/sdapi/v1/samplers', signal),
    http.get('/sdapi/v1/schedulers', signal),
    http.get(PROGRESS_PATH, signal),
  ])
  const models = listOf(http, modelsReply, listedModel)
  if (!models) throw replyFailure(http.name, modelsReply.status, modelsReply.text)
  const samplers = listOf(http, samplersReply, listedName)?.map(({ name }) => name)
  if (samplers?.includes('euler_a') || models.some(({ hash }) => hash === NO_HASH))
    throw failure(
      'unusable',
      `${http.name} is stable-diffusion.cpp, which cannot be stopped through this API: use its own, sdcpp+http://…`,
    )
  const progress = jsonReply(http.name, progressReply, z.unknown())
  const isSdNext = typeof progress === 'object' && progress !== null && 'id' in progress
  // SD.Next's own /schedulers fails in some versions and isn't needed; elsewhere only a 404 means "older than 1.9".
  const schedulers = isSdNext ? undefined : listOf(http, schedulersReply, listedName)
  const schedules = schedulers?.flatMap(({ name, label }) => [name, label ?? name])
  const dialect: 'a1111' | 'legacy' | 'sdnext' = isSdNext ? 'sdnext' : schedules ? 'a1111' : 'legacy'
  return { name: http.name, dialect, ...unambiguousModels(models), samplers: samplersOf(dialect, samplers, schedules) }
}

/** How often a server that lacks a wanted model is told to look at its files. */
const EVERY_MS = 60_000
/** Looking at the files of a slow disk takes longer; the next check sees what has become of it. */
const WITHIN_MS = 1_500

/**
 * A server lists the checkpoints that were there when it started, until it is told to look again. It does so between two
 * drawings only, so it is not told during one.
 * @param wanted the model files that it should have
 */
export function modelRefresh(http: ServerHttp, wanted: () => Promise<readonly string[]> = async () => []) {
  let drawings = 0
  let nextAt = Number.NEGATIVE_INFINITY

  async function refreshIfLacking(models: readonly { readonly filename: string }[], limited: AbortSignal) {
    const files = (await Promise.race([wanted(), whenAborted(limited)])) ?? []
    const has = new Set(models.map(({ filename }) => filename))
    if (drawings > 0 || files.every((filename) => has.has(filename))) return false
    nextAt = performance.now() + EVERY_MS
    await http.post('/sdapi/v1/refresh-checkpoints', {}, limited)
    return true
  }

  return {
    /** What the server has, after another look at its files if a wanted one is missing. @throws BackendError */
    async withRefresh(signal: AbortSignal) {
      const server = await discover(http, signal)
      if (drawings > 0 || performance.now() < nextAt) return server
      const look = (limited: AbortSignal) => refreshIfLacking(server.models, limited)
      // Where it can't be known what is wanted, or the server refuses, the list stays as it is.
      const refreshed = await withTimeLimit(signal, WITHIN_MS, look).catch(() => false)
      return refreshed ? discover(http, signal) : server
    },
    async notDuring<T>(drawing: () => Promise<T>): Promise<T> {
      drawings++
      return drawing().finally(() => drawings--)
    },
  }
}
