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

/** A row, or only these fields of it, named as they are in JSON: `createdAt` becomes `created_at`. */
export function jsonOf<Row extends object>(row: Row, ...names: readonly (keyof Row & string)[]) {
  const fields: [string, unknown][] = names.length > 0 ? names.map((name) => [name, row[name]]) : Object.entries(row)
  return renamed(Object.fromEntries(fields), snakeCase)
}
