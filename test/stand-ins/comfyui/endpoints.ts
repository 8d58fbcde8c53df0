import { randomUUID } from 'node:crypto'
import { objectIn } from '../stand-in-server.js'
import { checkPrompt, type Nodes, objectInfo, type Prompt, type Version } from './nodes.js'
import type { Queue } from './queue.js'

export interface Reply {
  readonly status: number
  /** An object is sent as JSON, a text or bytes as they are. */
  readonly body: object | string | Buffer
}

export interface Server {
  readonly version: Version
  readonly checkpoints: readonly string[]
  readonly nodes: Nodes
  readonly queue: Queue
  readonly files: Map<string, Buffer>
}

const ok = (body: object | string | Buffer = ''): Reply => ({ status: 200, body })
const NOT_FOUND: Reply = { status: 404, body: '404: Not Found' }
const TROUBLE: Reply = { status: 500, body: '500 Internal Server Error\n\nServer got itself in problem' }
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

let numbers = 0

/** What the server says to a request; `text` is its body, unless that is a `form`. */
export function answer(
  method: string,
  url: URL,
  text: string,
  form: FormData | undefined,
  server: Server,
): Reply | Promise<Reply> {
  const { version, checkpoints, nodes, queue, files } = server
  const [, first, second] = url.pathname.split('/')
  const body = objectIn(text)
  switch (`${method} /${first}`) {
    case 'GET /models':
      return version === 'old' || second !== 'checkpoints' ? NOT_FOUND : ok(checkpoints)
    case 'GET /system_stats':
      // The old ones speak of the machine only.
      return ok({
        system: version === 'old' ? { os: 'posix' } : { os: 'posix', comfyui_version: '0.3.64' },
        devices: [],
      })
    case 'GET /object_info':
      return ok(objectInfo(nodes, second ?? '', version))
    case 'GET /node_replacements':
      return version === 'new' ? ok({ 'ConditioningAverage ': [{ new_node_id: 'ConditioningAverage' }] }) : NOT_FOUND
    case 'GET /history':
      return ok(withoutStatus(queue.history(second ?? ''), version))
    case 'POST /history':
      if (Array.isArray(body?.delete)) queue.forgetEnds(body.delete)
      return ok()
    case 'POST /upload':
      return form ? takeUpload(form, files) : TROUBLE
    case 'GET /queue':
      return ok(queue.view())
    case 'GET /view': {
      const { type, subfolder, filename } = Object.fromEntries(url.searchParams)
      const file = files.get([type, subfolder, filename].filter(Boolean).join('/'))
      return file ? ok(file) : { status: 404, body: '' }
    }
    case 'GET /internal':
      return version === 'old' || url.pathname !== '/internal/files/temp' ? NOT_FOUND : ok(namesIn(files, 'temp'))
    case 'POST /prompt':
      return takePrompt(body, server)
    case 'POST /queue':
      if (Array.isArray(body?.delete)) queue.remove(body.delete)
      return ok()
    case 'POST /interrupt':
      queue.interrupt(version === 'old' || !body?.prompt_id ? undefined : String(body.prompt_id))
      return ok()
    case 'POST /free':
      return ok()
    case 'POST /api': {
      const [id, verb] = url.pathname.split('/').slice(3)
      if (version !== 'new' || second !== 'jobs' || !id || verb !== 'cancel')
        return { status: 405, body: '405: Method Not Allowed' }
      const cancelled = queue.has(id)
      queue.remove([id])
      queue.interrupt(id)
      return ok({ cancelled })
    }
    default:
      return NOT_FOUND
  }
}

const namesIn = (files: Map<string, Buffer>, directory: string) =>
  [...files.keys()].flatMap((path) => {
    const [first, name, ...deeper] = path.split('/')
    return first === directory && deeper.length === 0 ? [`${name} [${directory}]`] : []
  })

/** Into whichever directory is named, in the place of a file that is there if one says so. */
async function takeUpload(form: FormData, files: Map<string, Buffer>): Promise<Reply> {
  const image = form.get('image')
  if (!(image instanceof File)) return { status: 400, body: '' }
  const [type, subfolder] = [String(form.get('type') ?? 'input'), String(form.get('subfolder') ?? '')]
  const path = (name: string) => [type, subfolder, name].filter(Boolean).join('/')
  const name =
    form.get('overwrite') === 'true' || !files.has(path(image.name)) ? image.name : `${files.size} ${image.name}`
  files.set(path(name), Buffer.from(await image.arrayBuffer()))
  return ok({ name, subfolder, type })
}

function takePrompt(body: Record<string, unknown> | undefined, { version, nodes, queue }: Server): Reply {
  if (!body) return TROUBLE
  const refused = (error: object, node_errors: object = {}): Reply => ({ status: 400, body: { error, node_errors } })
  const { prompt, prompt_id: asked, client_id: clientId, extra_data: extra, front } = body
  if (prompt === undefined) {
    const said = 'No prompt provided'
    return refused({ type: 'no_prompt', message: said, details: said, extra_info: {} })
  }
  if (typeof prompt !== 'object' || prompt === null) return TROUBLE
  if (version === 'new' && asked !== undefined && !UUID.test(String(asked))) {
    const message = 'prompt_id must be a valid UUID'
    return refused({ type: 'invalid_prompt_id', message, details: message, extra_info: {} })
  }
  const { error, nodeErrors, outputs } = checkPrompt(prompt as Prompt, nodes)
  if (error) return refused(error, nodeErrors)
  const id = version === 'old' || asked === undefined ? randomUUID() : String(asked)
  const number = front === true ? -numbers++ : numbers++
  const client = typeof clientId === 'string' ? clientId : undefined
  const extraData = { ...(extra as object | undefined), ...(clientId !== undefined && { client_id: clientId }) }
  queue.put({ number, id, prompt: prompt as Prompt, clientId: client, extraData, outputs })
  return ok({ prompt_id: id, number, node_errors: nodeErrors })
}

function withoutStatus(history: Record<string, object>, version: Version): object {
  if (version !== 'old') return history
  return Object.fromEntries(Object.entries(history).map(([id, entry]) => [id, { ...entry, status: undefined }]))
}
