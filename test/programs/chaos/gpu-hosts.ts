/** A worker's GPU host: a stand-in whose faults have one name each, whatever kind of server it is. */
import { type A1111StandIn, startA1111StandIn } from '../../stand-ins/a1111/a1111-stand-in.js'
import type { Fault as A1111Fault } from '../../stand-ins/a1111/faults.js'
import { drawImage } from '../../stand-ins/a1111/images.js'
import { startComfyuiStandIn } from '../../stand-ins/comfyui/comfyui-stand-in.js'
import type { StandInSettings } from '../../stand-ins/comfyui/faults.js'
import type { Prompt, Version } from '../../stand-ins/comfyui/nodes.js'
import type { AnyGpuFault, ComfyuiFault } from './schedule.js'
import { LORAS } from './workflow.js'

/** That a host refuses connections is told apart. */
export type GpuFault = Exclude<ComfyuiFault, 'refuse'> | 'none'

export interface Drawing {
  readonly prompt: string
  /** The id under which a worker sent an attempt to ComfyUI. */
  readonly attempt?: string
  /** How strong the workflow's LoRA was, which tells its revisions apart. */
  readonly strength?: number | undefined
}

/** A prompt that a host still has: in its queue, or in its history or a file. */
export interface Kept {
  readonly gpu: number
  readonly where: 'queue' | 'history or files'
  readonly prompt: string
}

/** What the process of the hosts is started with, as JSON. */
export interface GpuSetup extends Omit<GpuHostOptions, 'onRun'> {
  readonly hosts: readonly ({ readonly kind: 'a1111' } | { readonly kind: 'comfyui'; readonly version: Version })[]
}

export type GpuCommand =
  | { readonly target: number; readonly fault: GpuFault }
  | { readonly target: number; readonly listen: boolean }
  /** Asks for the prompts with this word that are kept. */
  | { readonly keptWith: string }

export type GpuReport =
  | { readonly urls: readonly string[] }
  | { readonly run: number; readonly gpu: number; readonly drawing: Drawing; readonly at: number }
  | { readonly ended: number; readonly at: number; readonly answered: boolean }
  | { readonly kept: readonly Kept[] }

export interface GpuHost {
  readonly url: string
  set(fault: GpuFault): void
  listen(listen: boolean): Promise<void>
  /** As text, all that it knows of prompts, by where it knows it. */
  kept(): Readonly<Record<Kept['where'], string>>
}

export interface GpuHostOptions {
  readonly latencyMs: number
  readonly models: readonly string[]
  /** Told of each inference when it begins; `answered` resolves to whether it was drawn. */
  readonly onRun: (drawing: Drawing, answered: Promise<boolean>) => void
}

/** Long enough for its progress and previews to be seen. */
const SLOW_MS = 1200
const isSlow = (prompt: string) => prompt.includes(' slow ')
/** Some requests get a useless image on every host, as a job does that is itself at fault. */
const isBroken = (prompt: string) => prompt.includes(' broken ')

export async function startA1111Host({ latencyMs, models, onRun }: GpuHostOptions): Promise<GpuHost> {
  const standIn: A1111StandIn = await startA1111StandIn({
    ...{ latencyMs, models },
    onTxt2img: (body, ended) => {
      const prompt = String(body.prompt)
      standIn.set({ latencyMs: isSlow(prompt) ? SLOW_MS : latencyMs })
      onRun({ prompt }, ended)
      if (isBroken(prompt)) standIn.set({ fault: 'wrong_size', times: 1 })
    },
  })
  const preview = { width: 64, height: 64, key: 'preview', parameters: '', look: 'unfinished' } as const
  standIn.set({ currentImage: (await drawImage(preview)).toString('base64') })
  return {
    url: standIn.inferenceUrl,
    set: (fault) => standIn.set({ fault: fault === 'none' ? fault : A1111_FAULTS[fault as keyof typeof A1111_FAULTS] }),
    listen: (listen) => (listen ? standIn.accept() : standIn.refuse()),
    kept: () => ({ queue: '', 'history or files': '' }),
  }
}

const A1111_FAULTS: Readonly<Record<Exclude<AnyGpuFault, 'refuse'>, A1111Fault>> = {
  hang: 'hang',
  error: { status: 500 },
  garbage: 'garbage',
  drop: 'drop',
  drop_mid_reply: 'drop_mid_reply',
  wrong_size: 'wrong_size',
  busy: { status: 503 },
}

export async function startComfyuiHost({ latencyMs, models, onRun, version }: GpuHostOptions & { version: Version }) {
  let drawsBroken = false
  let fault: GpuFault = 'none'
  const standIn = await startComfyuiStandIn({
    ...{ latencyMs, models, version, loads: { lora: LORAS } },
    onExecution: (ended, { id, prompt: nodes }) => {
      const prompt = promptOf(nodes)
      const strength = Object.values(nodes).find(({ class_type }) => class_type === 'LoraLoader')?.inputs.strength_model
      drawsBroken = isBroken(prompt)
      standIn.set({ latencyMs: isSlow(prompt) ? SLOW_MS : latencyMs })
      apply()
      const answered = ended.then(({ status }) => status.completed)
      onRun({ prompt, attempt: id, ...(strength !== undefined && { strength: Number(strength) }) }, answered)
    },
  })
  const apply = () => {
    const broken = drawsBroken ? { run: 'wrong_size' as const } : {}
    standIn.set({ ...SOUND, ...(fault !== 'none' && COMFYUI_FAULTS[fault]), ...broken })
    Object.assign(standIn.nodes.LoraLoader ?? {}, { lora_name: fault === 'missing_file' ? [] : LORAS })
  }
  const host: GpuHost = {
    url: standIn.inferenceUrl,
    set(next) {
      if (next === 'restart') {
        standIn.restart()
        standIn.files.clear()
        void standIn.refuse()
      } else if (fault === 'restart') void standIn.accept()
      fault = next
      apply()
    },
    listen: (listen) => (listen ? standIn.accept() : standIn.refuse()),
    kept: standIn.kept,
  }
  return host
}

const SOUND: Partial<StandInSettings> = { fault: 'none', on: '', run: 'none', socket: 'none' }

/** Whatever is asked of it, unless it says on what. */
const COMFYUI_FAULTS: Readonly<Record<Exclude<GpuFault, 'none'>, Partial<StandInSettings>>> = {
  hang: { fault: 'hang' },
  error: { fault: { status: 500 } },
  garbage: { fault: 'garbage' },
  drop: { fault: 'drop_answer' },
  drop_mid_reply: { fault: 'drop_mid_reply' },
  busy: { fault: { status: 503 } },
  // The worker has given up or even died when the prompt comes into the queue, or hears of it much later.
  late: { fault: 'late', on: 'POST /prompt' },
  late_answer: { fault: 'late_answer', on: 'POST /prompt' },
  wrong_size: { run: 'wrong_size' },
  exception: { run: 'exception' },
  out_of_memory: { run: 'out_of_memory' },
  no_events: { socket: 'silent' },
  missing_file: {},
  restart: {},
}

function promptOf(nodes: Prompt): string {
  const sampler = Object.values(nodes).find(({ class_type }) => class_type === 'KSampler')
  const [positive] = (sampler?.inputs.positive ?? []) as string[]
  return String(nodes[positive ?? '']?.inputs.text)
}
