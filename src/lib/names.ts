/** The names of code, like `cfgScale`, and those of JSON, like `cfg_scale`. */

/** Polls ask for the same few names thousands of times a second. */
const camelCased = new Map<string, string>()

export function camelCase(name: string): string {
  let core = camelCased.get(name)
  if (core === undefined) {
    core = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
    camelCased.set(name, core)
  }
  return core
}

export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The same values under the other names. */
export const renamed = (values: object, rename: (name: string) => string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [rename(name), value]))
