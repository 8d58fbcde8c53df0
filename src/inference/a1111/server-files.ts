import { z } from 'zod'
import { withTimeLimit } from '../../lib/abort-signals.js'
import { type CheckpointOptions, listedFile, notTaken, type OptionName } from '../checkpoint-options.js'
import type { ServerHttp } from '../server-http.js'
import { listOf } from './listing.js'

/** The files that options may name, as a server lists them; undefined where it has no such listing. */
export interface ServerFiles {
  readonly vae: readonly File[] | undefined
  readonly lora: readonly File[] | undefined
  /** Names of upscalers. */
  readonly hires: readonly File[] | undefined
  /** VAEs and text encoders; only Forge has such. */
  readonly modules: readonly File[] | undefined
}
interface File {
  /** What the server calls it. */
  readonly name: string
  readonly path?: string | undefined
}

const text = z.string().min(1)
const named = z.object({ name: text })
const lora = z
  .object({ name: text, path: text.nullish() })
  .transform(({ name, path }) => ({ name, path: path ?? undefined }))
const module = z
  .object({ model_name: text, filename: text.nullish() })
  .transform(({ model_name: name, filename }) => ({ name, path: filename ?? undefined }))

/** So that a slow listing does not make a server count as down: what it names is missing until the next time. */
const WITHIN_MS = 2_000

/** Asks only for the listings that the options need, as that of LoRAs may have megabytes. @throws the signal's reason */
export async function listFiles(
  http: ServerHttp,
  wanted: readonly CheckpointOptions[],
  signal: AbortSignal,
): Promise<ServerFiles> {
  const list = async (path: string, entry: z.ZodType<File>, ...names: OptionName[]) => {
    if (!wanted.some((options) => names.length === 0 || names.some((name) => options[name] !== undefined)))
      return undefined
    const look = async (limited: AbortSignal) => listOf(http, await http.get(path, limited), entry)
    const listed = await withTimeLimit(signal, WITHIN_MS, look).catch(() => undefined)
    signal.throwIfAborted()
    return listed
  }
  const [vae, loras, upscalers, latent, modules] = await Promise.all([
    list('/sdapi/v1/sd-vae', module, 'vae'),
    list('/sdapi/v1/loras', lora, 'lora'),
    list('/sdapi/v1/upscalers', named, 'hires'),
    list('/sdapi/v1/latent-upscale-modes', named, 'hires'),
    list('/sdapi/v1/sd-modules', module),
  ])
  const hires = upscalers || latent ? [...(upscalers ?? []), ...(latent ?? [])] : undefined
  return { vae, lora: loras, hires, modules }
}

export interface WithFiles {
  readonly dialect: 'a1111' | 'legacy' | 'sdnext'
  /** Listed while models are needed that are drawn with options. */
  readonly files?: ServerFiles | undefined
}

export const isForge = ({ files }: WithFiles): boolean => files?.modules !== undefined

const ALL: readonly OptionName[] = ['vae', 'clip_skip', 'lora', 'hires']
const takenBy = (server: WithFiles): readonly OptionName[] => {
  if (server.dialect === 'sdnext') return [...ALL, 'true_cfg_scale', 'flow_shift']
  return isForge(server) ? [...ALL, 'forge_additional_modules', 'distilled_cfg_scale'] : ALL
}

/** Why the server can't draw with these options, a sentence each. */
export function lackingOf(server: WithFiles, options: CheckpointOptions): string[] {
  const { vae, lora, hires, forge_additional_modules } = options
  const without = (
    kind: string,
    listed: readonly File[] | undefined,
    names: readonly string[],
    find = listedFile<File>,
  ) =>
    names.length > 0 && !listed
      ? [`It does not list its ${kind}s.`]
      : names.flatMap((name) => (find(listed ?? [], name) ? [] : `It does not have the ${kind} "${name}".`))
  const { files } = server
  const forge = isForge(server)
  return [
    ...notTaken(options, takenBy(server)),
    ...without('VAE', forge ? files?.modules : files?.vae, vae === undefined ? [] : [vae]),
    ...without('LoRA', files?.lora, lora?.map(({ file }) => file) ?? []),
    ...without('upscaler', files?.hires, hires ? [hires.upscaler] : [], byName),
    ...without('module', files?.modules, (forge && forge_additional_modules) || []),
  ]
}

const byName = (listed: readonly File[], upscaler: string) => listed.find(({ name }) => name === upscaler)
