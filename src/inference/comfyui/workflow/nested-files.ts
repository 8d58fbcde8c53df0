/** Names of models' files within lists and objects, as nodes have them that take several, each with a switch of its own. */

/** The name of a model's file. */
export const FILE = /\.(safetensors|sft|ckpt|pt2?|pth|bin|gguf|onnx|engine|yaml)$/i

const isOff = (value: object): boolean =>
  ['on', 'active', 'enabled'].some((name) => (value as Readonly<Record<string, unknown>>)[name] === false)

const isFile = (_key: string, text: string): boolean => FILE.test(text)

/** LoRAs, as some nodes name them. */
const isNameWithoutEnding = (key: string, text: string): boolean =>
  /^(lora|lora_?name|name)$/i.test(key) && !FILE.test(text) && /[\p{L}\p{N}]/u.test(text) && !/^\W*none\W*$/i.test(text)

/**
 * The same value with other files: what is turned off stays as it is. Reading the file has bounded how deep it may be.
 * @param key of the object that has it
 */
export function withFiles(
  value: unknown,
  fileFor: (key: string, file: string) => unknown,
  isOne = isFile,
  key = '',
): unknown {
  if (typeof value === 'string') return key !== '' && isOne(key, value) ? fileFor(key, value) : value
  if (typeof value !== 'object' || value === null || isOff(value)) return value
  if (Array.isArray(value)) return value.map((it) => withFiles(it, fileFor, isOne, key || 'list'))
  return Object.fromEntries(Object.entries(value).map(([name, it]) => [name, withFiles(it, fileFor, isOne, name)]))
}

interface Nested {
  readonly key: string
  readonly file: string
}

function nested(value: unknown, isOne?: typeof isFile): Nested[] {
  const found: Nested[] = []
  const note = (key: string, file: string) => {
    found.push({ key, file })
    return file
  }
  withFiles(value, note, isOne)
  return found
}

export const nestedFiles = (value: unknown): Nested[] => nested(value)

/** What may be a LoRA without its file's ending; the key tells whether it is. */
export const nestedNames = (value: unknown): Nested[] => nested(value, isNameWithoutEnding)
