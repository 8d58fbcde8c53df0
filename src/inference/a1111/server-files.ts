import { z } from 'zod'
import { type CheckpointOptions, listedFile, notTaken, type OptionName } from '../checkpoint-options.js'
import type { ServerHttp } from '../server-http.js'
import type { A1111Server } from './discovery.js'
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

/** Asks only for the listings that the options need, as that of LoRAs may have megabytes. @throws BackendError */
export async function listFiles(
  http: ServerHttp,
  wanted: readonly CheckpointOptions[],
  signal: AbortSignal,
): Promise<ServerFiles> {
  const list = async (path: string, entry: z.ZodType<File>, ...names: OptionName[]) =>
    wanted.some((options) => names.length === 0 || names.some((name) => options[name] !== undefined))
      ? listOf(http, await http.get(path, signal), entry)
      : undefined
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

export const isForge = ({ files }: Pick<A1111Server, 'files'>): boolean => files?.modules !== undefined

const ALL: readonly OptionName[] = ['vae', 'clip_skip', 'lora', 'hires']
const takenBy = (server: A1111Server): readonly OptionName[] => {
  if (server.dialect === 'sdnext') return [...ALL, 'true_cfg_scale', 'flow_shift']
  return isForge(server) ? [...ALL, 'forge_additional_modules', 'distilled_cfg_scale'] : ALL
}

/** Why the server can't draw with these options, a sentence each. */
export function lackingOf(server: A1111Server, options: CheckpointOptions): string[] {
  const { vae, lora, hires, forge_additional_modules } = options
  const without = (kind: string, listed: readonly File[] | undefined, names: readonly (string | undefined)[]) =>
    names.flatMap((name) =>
      name === undefined || listedFile(listed ?? [], name) ? [] : `It does not have the ${kind} "${name}".`,
    )
  const taken = takenBy(server)
  return [
    ...notTaken(options, taken),
    ...without('VAE', isForge(server) ? server.files?.modules : server.files?.vae, [vae]),
    ...without('LoRA', server.files?.lora, lora?.map(({ file }) => file) ?? []),
    ...(hires && !server.files?.hires?.some(({ name }) => name === hires.upscaler)
      ? [`It does not have the upscaler "${hires.upscaler}".`]
      : []),
    ...without(
      'module',
      server.files?.modules,
      (taken.includes('forge_additional_modules') && forge_additional_modules) || [],
    ),
  ]
}
