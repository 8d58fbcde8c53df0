/** The nodes that a stand-in has, as ComfyUI 0.3.64 describes and checks them. */
export type Version = 'old' | '0.3.64' | 'new'

export interface PromptNode {
  readonly class_type: string
  readonly inputs: Record<string, unknown>
}
export type Prompt = Record<string, PromptNode>

interface Range {
  readonly min: number
  readonly max: number
  readonly step?: number
}
/** A list to choose from, a number's range, a text, or another node's output. */
type Input = readonly string[] | Range | 'STRING' | 'LINK'

const SAMPLERS = [
  ...['euler', 'euler_cfg_pp', 'euler_ancestral', 'euler_ancestral_cfg_pp', 'heun', 'heunpp2', 'dpm_2'],
  ...['dpm_2_ancestral', 'lms', 'dpm_fast', 'dpm_adaptive', 'dpmpp_2s_ancestral', 'dpmpp_2s_ancestral_cfg_pp'],
  ...['dpmpp_sde', 'dpmpp_sde_gpu', 'dpmpp_2m', 'dpmpp_2m_cfg_pp', 'dpmpp_2m_sde', 'dpmpp_2m_sde_gpu'],
  ...['dpmpp_2m_sde_heun', 'dpmpp_2m_sde_heun_gpu', 'dpmpp_3m_sde', 'dpmpp_3m_sde_gpu', 'ddpm', 'lcm', 'ipndm'],
  ...['ipndm_v', 'deis', 'res_multistep', 'res_multistep_cfg_pp', 'res_multistep_ancestral'],
  ...['res_multistep_ancestral_cfg_pp', 'gradient_estimation', 'gradient_estimation_cfg_pp', 'er_sde', 'seeds_2'],
  ...['seeds_3', 'sa_solver', 'sa_solver_pece', 'ddim', 'uni_pc', 'uni_pc_bh2'],
]
const SCHEDULERS = [
  ...['simple', 'sgm_uniform', 'karras', 'exponential', 'ddim_uniform', 'beta', 'normal', 'linear_quadratic'],
  'kl_optimal',
]
const STRENGTH = { min: -100, max: 100 }
/** Each writes files: to keep them, or into the directory of what is temporary. */
export const OUTPUT_NODES = ['SaveImage', 'PreviewImage']

export type Nodes = Record<string, Record<string, Input>>

/** The names of files besides checkpoints. */
export type Files = Partial<Record<'unet' | 'clip' | 'vae' | 'lora', readonly string[]>>

export function nodesOf(
  checkpoints: readonly string[],
  samplers: readonly string[] = SAMPLERS,
  { unet = [], clip = [], vae = [], lora = [] }: Files = {},
): Nodes {
  const size = { min: 16, max: 16384, step: 8 }
  return {
    CheckpointLoaderSimple: { ckpt_name: checkpoints },
    CLIPTextEncode: { text: 'STRING', clip: 'LINK' },
    EmptyLatentImage: { width: size, height: size, batch_size: { min: 1, max: 4096 } },
    KSampler: {
      model: 'LINK',
      seed: { min: 0, max: 2 ** 64 },
      steps: { min: 1, max: 10000 },
      cfg: { min: 0, max: 100 },
      sampler_name: samplers,
      scheduler: SCHEDULERS,
      positive: 'LINK',
      negative: 'LINK',
      latent_image: 'LINK',
      denoise: { min: 0, max: 1 },
    },
    VAEDecode: { samples: 'LINK', vae: 'LINK' },
    UNETLoader: { unet_name: unet, weight_dtype: ['default', 'fp8_e4m3fn'] },
    CLIPLoader: { clip_name: clip, type: ['stable_diffusion', 'sd3', 'flux', 'qwen_image'] },
    VAELoader: { vae_name: vae },
    LoraLoader: { model: 'LINK', clip: 'LINK', lora_name: lora, strength_model: STRENGTH, strength_clip: STRENGTH },
    ImageScaleBy: { image: 'LINK', upscale_method: ['nearest-exact', 'lanczos'], scale_by: { min: 0.01, max: 8 } },
    SaveImage: { images: 'LINK', filename_prefix: 'STRING' },
    PreviewImage: { images: 'LINK' },
  }
}

/** The body of GET /object_info/{name}. */
export function objectInfo(nodes: Nodes, name: string, version: Version): object {
  const inputs = nodes[name]
  if (!inputs) return {}
  const describe = (input: Input) => {
    if (typeof input === 'string') return [input === 'LINK' ? 'MODEL' : input, {}]
    if (!('min' in input)) return version === 'new' ? ['COMBO', { options: input }] : [input, { tooltip: 'A list.' }]
    return [Number.isInteger(input.max) ? 'INT' : 'FLOAT', input]
  }
  const required = Object.fromEntries(Object.entries(inputs).map(([key, input]) => [key, describe(input)]))
  return { [name]: { input: { required }, name, output_node: OUTPUT_NODES.includes(name) } }
}

export interface Checked {
  /** Undefined: it may be queued. */
  readonly error?: object
  readonly nodeErrors: Record<string, object>
  /** The output nodes that may run. */
  readonly outputs: string[]
}

const problem = (type: string, message: string, details = '') => ({ type, message, details, extra_info: {} })

/** What the server says to a prompt; one sound output is enough for it to be taken. */
export function checkPrompt(prompt: Prompt, nodes: Nodes): Checked {
  for (const [id, { class_type }] of Object.entries(prompt)) {
    if (nodes[class_type]) continue
    const message = `Cannot execute because node ${class_type} does not exist.`
    return { error: problem('invalid_prompt', message, `Node ID '#${id}'`), nodeErrors: {}, outputs: [] }
  }
  const outputs = Object.keys(prompt).filter((id) => OUTPUT_NODES.includes(prompt[id]?.class_type ?? ''))
  if (outputs.length === 0)
    return { error: problem('prompt_no_outputs', 'Prompt has no outputs'), nodeErrors: {}, outputs }
  const nodeErrors: Record<string, { errors: object[]; dependent_outputs: string[]; class_type: string }> = {}
  const sound = outputs.filter((output) => {
    const wrong = [...above(prompt, output)].filter((id) => {
      const node = prompt[id]
      const errors = node ? errorsOf(node, nodes[node.class_type] ?? {}, prompt) : []
      if (!node || errors.length === 0) return false
      nodeErrors[id] ??= { errors, dependent_outputs: [], class_type: node.class_type }
      nodeErrors[id].dependent_outputs.push(output)
      return true
    })
    return wrong.length === 0
  })
  if (sound.length > 0) return { nodeErrors, outputs: sound }
  return {
    error: problem('prompt_outputs_failed_validation', 'Prompt outputs failed validation'),
    nodeErrors,
    outputs: [],
  }
}

/** The node and all that it needs, those first that need nothing. */
export function above(prompt: Prompt, id: string, found = new Set<string>()): Set<string> {
  for (const value of Object.values(prompt[id]?.inputs ?? {})) {
    if (Array.isArray(value) && prompt[String(value[0])] && !found.has(String(value[0])))
      above(prompt, String(value[0]), found)
  }
  return found.add(id)
}

function errorsOf({ inputs }: PromptNode, spec: Record<string, Input>, prompt: Prompt): object[] {
  return Object.entries(spec).flatMap(([name, input]) => {
    const value = inputs[name]
    if (value === undefined)
      return [
        { ...problem('required_input_missing', 'Required input is missing', name), extra_info: { input_name: name } },
      ]
    const extra_info = { input_name: name, input_config: null, received_value: value }
    if (input === 'LINK') {
      const from = Array.isArray(value) ? String(value[0]) : ''
      if (prompt[from]) return []
      const wrong = problem('exception_during_inner_validation', 'Exception when validating inner node', `'${from}'`)
      return [{ ...wrong, extra_info: { ...extra_info, exception_type: 'KeyError', linked_node: value } }]
    }
    if (input === 'STRING') return []
    if ('min' in input) {
      const number = Number(value)
      const [type, word, bound] =
        number < input.min
          ? (['value_smaller_than_min', 'smaller than min', input.min] as const)
          : (['value_bigger_than_max', 'bigger than max', input.max] as const)
      if (number >= input.min && number <= input.max) return []
      return [{ ...problem(type, `Value ${number} ${word} of ${bound}`, name), extra_info }]
    }
    if (input.includes(String(value))) return []
    const list = input.length > 20 ? `(list of length ${input.length})` : `[${input.map((it) => `'${it}'`).join(', ')}]`
    return [{ ...problem('value_not_in_list', 'Value not in list', `${name}: '${value}' not in ${list}`), extra_info }]
  })
}
