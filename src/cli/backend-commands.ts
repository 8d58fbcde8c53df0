import { access, constants, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { isDefinition, type ModelDefinition } from '../core/catalog/model-definition.js'
import { type ModelVersion, SEED_MODELS } from '../core/catalog/model-version.js'
import { SAMPLERS } from '../core/generations/generation.js'
import { modelStore } from '../db/catalog/models.js'
import { definitionStore } from '../db/generations/definitions.js'
import { finishImage } from '../images/finish-image.js'
import { bareName } from '../inference/a1111/discovery.js'
import { type BackendFindings, type DrawnCheck, drawCheck, inspectBackend } from '../inference/backend-check.js'
import { createBackend } from '../inference/create-backend.js'
import { recognize } from '../inference/recognize.js'
import { parseServerUrl } from '../inference/server-http.js'
import { type FindConfig, withOperator } from './connection.js'
import { OperatorError } from './operator-error.js'
import { type Answer, jsonOf } from './output.js'

/** Loading a large checkpoint from a slow disk takes a minute or two. */
const DRAW_MS = 300_000
const RECOGNIZE_MS = 10_000

/**
 * @param find looks for a database, which a check can do without
 * @param say prints a text for people at once, and nothing with --json
 */
export function backendCommands(
  program: Command,
  find: FindConfig,
  say: (text: string) => void,
  print: (answer: Answer) => void,
): void {
  program
    .command('backend')
    .description('GPU servers')
    .command('check')
    .description('connect to a GPU server, list what it lacks, and let it draw one image')
    .argument(
      '<url>',
      'an entry of INFERENCE_URL, such as a1111+http://127.0.0.1:7860, or a plain http:// address, whose kind is found out',
    )
    .option(
      '--model <file...>',
      'checkpoints that it should have, or IDs of model versions (default: those of the catalog)',
    )
    .option('--output <path>', 'keep the image in this file')
    .option('--strict', 'exit 1 for a missing sampler, too')
    .action(async (url, options) => print(await checkBackendAt(find, url, say, options)))
}

type CheckOptions = { readonly model?: readonly string[]; readonly output?: string; readonly strict?: boolean }

async function checkBackendAt(
  find: FindConfig,
  url: string,
  say: (text: string) => void,
  { model, output, strict = false }: CheckOptions,
) {
  const path = output === undefined ? undefined : resolve(output)
  // Checked before minutes are spent on an image that can't be kept.
  if (path !== undefined) await writing(path, access(dirname(path), constants.W_OK))
  const catalog = await readCatalog(find)
  const wanted = model?.map((it) => fileOf(it, catalog.models)) ?? catalog.models.map(({ filename }) => filename)
  const options = { wanted: async () => wanted, definitions: async () => catalog.definitions }
  const backend = createBackend(await entryOf(url), { timeoutMs: DRAW_MS, ...options })
  const parametersOf = (file: string) => catalog.models.find(({ filename }) => filename === file)?.parameters ?? null
  const ended = new AbortController()
  // Otherwise the server would go on with an image that takes minutes.
  const end = () => ended.abort()
  for (const signal of ENDS) process.once(signal, end)
  try {
    const found = { name: backend.name, wanted, ...(await inspectBackend(backend, wanted, ended.signal)) }
    say(findingsText(found))
    const { model, sampler } = found
    if (model === undefined || sampler === undefined) return answerOf({ ...found, path, image: undefined }, strict)
    // Loading a model may take minutes.
    say('drawing one image…')
    const image = await drawCheck(backend, { model, sampler }, parametersOf(model), finishImage, ended.signal)
    if (path !== undefined) await writing(path, writeFile(path, image.png))
    return answerOf({ ...found, path, image }, strict)
  } finally {
    for (const signal of ENDS) process.removeListener(signal, end)
    await backend.close()
  }
}

const ENDS = ['SIGINT', 'SIGTERM'] as const

async function writing(path: string, work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new OperatorError(`The image can't be written to ${path} (${code}); name another file with --output.`)
  }
}

/** The URL itself; for a plain address, the same with the kind of the server that answers there. */
async function entryOf(url: string): Promise<string> {
  if (!/^https?:/.test(url)) return url
  const address = parseServerUrl(`unknown+${url}`)
  const timeout = AbortSignal.timeout(RECOGNIZE_MS)
  const found = await recognize({ ...address, name: address.base }, timeout).catch((error: Error) => {
    throw timeout.aborted ? new OperatorError('No server answered there in time: check the address.') : error
  })
  if (found?.kind) return `${found.kind}+${url}`
  if (found) throw new OperatorError(`${address.base} is ${found.software}.`)
  throw new OperatorError(
    'No server that Easel can use answers there: check the address, and that the server runs with its API on.',
  )
}

interface Catalog {
  readonly models: readonly ModelVersion[]
  readonly definitions: readonly ModelDefinition[]
}

/** The service's catalog where its database can be found from here, else the built-in one. */
async function readCatalog(find: FindConfig): Promise<Catalog> {
  const config = await find()
  if (!config) return { models: SEED_MODELS, definitions: [] }
  return withOperator(config, async ({ db }) => ({
    models: await modelStore(db).listEnabled(),
    definitions: await definitionStore(db).needed(),
  }))
}

/** The file of a version, named by its ID; a file's own name stays. */
const fileOf = (named: string, models: readonly ModelVersion[]): string =>
  models.find(({ id }) => `${id}` === named)?.filename ?? named

type Found = BackendFindings & {
  /** The backend's. */
  readonly name: string
  /** Model files it should have. */
  readonly wanted: readonly string[]
}

type Checked = Found & {
  /** Undefined: it could draw none. */
  readonly image: DrawnCheck | undefined
  /** The image's file; undefined: it is not kept. */
  readonly path: string | undefined
}

function findingsText({ name, wanted, models, ambiguous, missingModels, missingSamplers, ...more }: Found): string {
  const found = (all: readonly string[], missing: readonly string[]) =>
    `${all.length - missing.length} of ${all.length}${missing.length > 0 ? `; missing: ${missing.join(', ')}` : ''}`
  const nearest = missingModels.map((file) => withNearest(file, models ?? []))
  const lines = [
    `${name} answers`,
    `models: ${found(wanted, nearest)}`,
    ...more.lacks,
    missingModels.some((file) => !isDefinition(file)) &&
      models &&
      `it has: ${ownNames(models).join(', ') || 'no models'}`,
    ...ambiguous.map(
      (file) => `${file} is the name of several checkpoints there, so none of them is used: rename all but one`,
    ),
    `samplers: ${found(SAMPLERS, missingSamplers)}`,
    ...more.advice,
    more.sizeMultiple > 8 && `sizes: multiples of ${more.sizeMultiple} only`,
  ]
  return lines.filter(Boolean).join('\n')
}

function answerOf(checked: Checked, strict: boolean): Answer {
  const { name, path, models, ambiguous, missingModels, missingSamplers, image, lacks } = checked
  const remark = remarkOn(checked)
  const failed = !image || missingModels.length > 0 || (strict && missingSamplers.length > 0)
  return {
    json: {
      ...{ ok: !failed, backend: name, models, missing_models: missingModels, ambiguous_models: ambiguous },
      ...jsonOf(checked, 'missingSamplers', 'maxSeed', 'sizeMultiple', 'advice'),
      lacks,
      image: image && { path: path ?? null, ...jsonOf(image, 'model', 'sampler', 'tookMs') },
    },
    text:
      image &&
      `image: ${image.width}×${image.height}, ${image.model}, ${image.sampler}, ${image.steps} steps, in ${(image.tookMs / 1000).toFixed(1)} s${path === undefined ? '' : `: ${path}`}`,
    failed,
    remark: remark && `${image ? 'warning' : 'error'}: ${remark}`,
  }
}

/** A catalog's name that differs from the server's in its ending or folder only is likely a slip. */
function withNearest(file: string, models: readonly string[]): string {
  const nearest = models.find((model) => bareName(model) === bareName(file))
  return nearest === undefined ? file : `${file} (it has ${nearest})`
}

/** Without those that the same model may be called by, too. */
const ownNames = (models: readonly string[]) =>
  models.filter(
    (name) => !models.some((other) => other !== name && (name.startsWith(`${other}.`) || other.endsWith(`/${name}`))),
  )

/** Why it could not draw, or what it lacks although it could. */
function remarkOn({ name, wanted, missingModels, missingSamplers, image, lacks }: Checked): string | undefined {
  if (wanted.length === 0)
    return `The catalog offers no model that ${name} could draw with: enable one with "easel models enable", or name the server's own with --model.`
  if (missingModels.length === wanted.length && lacks.length > 0)
    return `${name} can draw none of the models: the lines above say what it lacks.`
  if (missingModels.length === wanted.length)
    return `${name} has none of the models: put their files where it looks for checkpoints, or name its own with --model.`
  if (!image) return `${name} lists none of the samplers: update it.`
  const missing = Object.entries({ models: missingModels, samplers: missingSamplers })
    .filter(([, names]) => names.length > 0)
    .map(([what, names]) => `the ${what} ${names.join(', ')}`)
  if (missing.length === 0) return undefined
  return `${name} works but lacks ${missing.join(' and ')}: generations that need them wait for another backend, or fail with a refund.`
}
