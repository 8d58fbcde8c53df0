import { z } from 'zod'
import type { InferenceRequest } from '../../core/generations/run/backend.js'
import { type Bad, badOutput, failure } from '../backend-failure.js'
import { drawnImage, type Fields, fieldsOf } from '../drawn-image.js'
import { inertText, inertTextForWildcards } from '../inert-text.js'
import { describeUnexpected, parsedJson } from '../server-reply.js'
import { type A1111Asked, bareName } from './discovery.js'
import { loraTags, fieldsOf as optionFields, settingsOf } from './option-fields.js'
import { isForge } from './server-files.js'

/** The body of POST /sdapi/v1/txt2img. */
export function txt2imgBody(asked: A1111Asked): object {
  const { request, server, model, sampler, seeds } = asked
  const { dialect } = server
  const inert = dialect === 'sdnext' ? inertTextForWildcards : inertText
  const settings = settingsOf(asked)
  return {
    prompt: loraTags(asked) + inert(request.prompt),
    negative_prompt: inert(request.negativePrompt),
    width: request.width,
    height: request.height,
    steps: request.steps,
    cfg_scale: request.cfgScale,
    seed: seeds[0],
    batch_size: seeds.length,
    n_iter: 1,
    sampler_name: sampler.name,
    ...(dialect !== 'sdnext' && sampler.schedule && { scheduler: sampler.schedule }),
    override_settings: {
      sd_model_checkpoint: model.title,
      // SD.Next would send JPEGs.
      ...(dialect === 'sdnext' && { schedulers_sigma: sampler.schedule, samples_format: 'png' }),
      ...settings,
    },
    // Restoring would load the previous model again after every job; `prepareSettings` sees to that for a definition's.
    override_settings_restore_afterwards: Object.keys(settings).length > 0,
    send_images: true,
    save_images: false,
    do_not_save_grid: true,
    force_task_id: request.attemptId,
    ...optionFields(asked),
  }
}

const txt2imgReply = z.object({ images: z.array(z.string()), info: z.string() })
const replyInfo = z.object({
  all_seeds: z.array(z.number()),
  index_of_first_image: z.int().min(0).nullish(),
  sampler_name: z.string().nullish(),
  sd_model_name: z.string().nullish(),
  sd_model_hash: z.string().nullish(),
  extra_generation_params: z.object({ 'Schedule type': z.string().optional().catch(undefined) }).nullish(),
  infotexts: z.array(z.string()).nullish(),
  version: z.string().nullish(),
})
type ReplyInfo = z.infer<typeof replyInfo>

/**
 * The verified images of a 200. These servers use their default sampler or the loaded model instead of one that they
 * don't have, and answer an interrupted job like a finished one.
 * @throws BackendError `bad_output`, or `model_missing` when another checkpoint drew them
 */
export async function readReply(text: string, asked: A1111Asked) {
  const { server, sampler, seeds } = asked
  const bad = badOutput(server.name)
  const { images, info } = parseReply(text, asked.request, bad)
  if (info.all_seeds.length !== seeds.length || info.all_seeds.some((seed, n) => seed !== seeds[n]))
    throw bad(`drew the seeds ${info.all_seeds.slice(0, 8)} instead of ${seeds}`)
  const first = info.index_of_first_image ?? 0 // a grid may come before the batch, and images of extensions after it
  const batch = images.slice(first, first + seeds.length)
  if (batch.length !== seeds.length) throw bad(`sent ${batch.length} of ${seeds.length} images`)
  const said = fieldsOf(info.infotexts?.[first] ?? info.infotexts?.[0] ?? '')
  requireModel(info, said, asked)
  requireAskedSampler(info, said, asked, bad)
  requireAskedFiles(said, asked, bad)
  const madeWith = {
    // An old A1111 counts as A1111. Forge, too: the version tells them apart.
    backend: server.dialect === 'legacy' ? 'a1111' : server.dialect,
    version: info.version || said('Version') || null,
    sampler: sampler.name,
    scheduler: sampler.schedule ?? null,
  }
  const scale = asked.options.hires?.scale
  const drawn = await Promise.all(batch.map((image) => drawnImage(image, asked.request, bad, scale)))
  return drawn.map(({ bytes, size }, n) => ({ bytes, seed: seeds[n] as number, madeWith, size }))
}

function parseReply(text: string, request: InferenceRequest, bad: Bad) {
  const reply = parsedJson(text, txt2imgReply)
  if (!reply) throw bad(`answered txt2img with ${describeUnexpected(text, txt2imgReply, request)}`)
  const info = parsedJson(reply.info, replyInfo)
  if (!info) throw bad(`answered txt2img with an "info" that is ${describeUnexpected(reply.info, replyInfo, request)}`)
  return { images: reply.images, info }
}

function requireModel(info: ReplyInfo, said: Fields, { server, model }: A1111Asked): void {
  const name = info.sd_model_name || said('Model')
  const hash = info.sd_model_hash || said('Model hash')
  // A hash is computed when a model is first loaded: the listing may not have known it yet.
  const byHash = hash && model.hash ? hash.startsWith(model.hash) || model.hash.startsWith(hash) : undefined
  const byName = name ? model.reportedAs.includes(bareName(name)) : undefined
  // A reply that names no model can only be that of the single one the server has.
  const isAsked = byName === undefined ? (byHash ?? server.models.length === 1) : byName && byHash !== false
  if (!isAsked) {
    const drawn = name || hash || 'a model it does not name'
    throw failure('model_missing', `${server.name} drew with "${drawn}" instead of "${model.title}"`)
  }
}

function requireAskedSampler(info: ReplyInfo, said: Fields, { server, sampler }: A1111Asked, bad: Bad): void {
  const name = info.sampler_name ?? said('Sampler')
  if (name !== sampler.name) throw bad(`sampled with "${name}" instead of "${sampler.name}"`)
  const schedule =
    server.dialect === 'sdnext'
      ? said('Sampler sigma')
      : (info.extra_generation_params?.['Schedule type'] ?? said('Schedule type'))
  // Not every server names its schedule.
  const isAsked = schedule === undefined || schedule === sampler.schedule
  const isFixed = sampler.schedule !== undefined && sampler.schedule !== 'Automatic'
  if (isFixed && !isAsked) throw bad(`used the schedule "${schedule}" instead of "${sampler.schedule}"`)
}

/** A server without the VAE or module draws with what it has. */
function requireAskedFiles(said: Fields, { options, server }: A1111Asked, bad: Bad): void {
  const { vae, forge_additional_modules: modules = [] } = options
  const forge = isForge(server)
  const drewWith = said('VAE')
  if (vae && !forge && drewWith && bareName(drewWith) !== bareName(vae))
    throw bad(`drew with the VAE "${drewWith}" instead of "${vae}"`)
  const asked = forge ? [...modules, ...(vae ? [vae] : [])] : []
  const used = asked.map((_, n) => said(`Module ${n + 1}`)).flatMap((name) => (name ? bareName(name) : []))
  const missing = used.length > 0 && asked.find((name) => !used.includes(bareName(name)))
  if (missing) throw bad(`drew with the modules "${used.join('", "')}" and without "${missing}"`)
}
