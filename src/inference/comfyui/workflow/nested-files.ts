/** Names of models' files within lists and objects, as nodes have them that take several, each with a switch of its own. */

/** The name of a model's file. */
export const FILE = /\.(safetensors|sft|ckpt|pt2?|pth|bin|gguf|onnx|engine|yaml)$/i

const isOff = (value: object): boolean =>
  ['on', 'active', 'enabled'].some((name) => (value as Readonly<Record<string, unknown>>)[name] === false)

/**
 * The same value with other files: what is turned off stays as it is. Reading the file has bounded how deep it may be.
 * @param key of the object that has it
 */
export function withFiles(value: unknown, fileFor: (key: string, file: string) => unknown, key = ''): unknown {
  if (typeof value === 'string') return key !== '' && FILE.test(value) ? fileFor(key, value) : value
  if (typeof value !== 'object' || value === null || isOff(value)) return value
  if (Array.isArray(value)) return value.map((it) => withFiles(it, fileFor, key || 'list'))
  return Object.fromEntries(Object.entries(value).map(([name, it]) => [name, withFiles(it, fileFor, name)]))
}

export function nestedFiles(value: unknown): { readonly key: string; readonly file: string }[] {
  const found: { key: string; file: string }[] = []
  withFiles(value, (key, file) => {
    found.push({ key, file })
    return file
  })
  return found
}
