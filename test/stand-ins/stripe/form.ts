/** A value of Stripe's form-encoded requests: `metadata[pack]=Small`, `expand[]=customer`, `line_items[0][price]=price_1`. */
export type FormValue = string | { [key: string]: FormValue }
export type Form = { [key: string]: FormValue }

export function formOf(text: string): Form {
  const form: Form = {}
  for (const [name, value] of new URLSearchParams(text)) {
    const keys = [...name.matchAll(/[^[\]]+|(?<=\[)(?=\])/g)].map(([key]) => key)
    let into = form
    for (const [at, key] of keys.entries()) {
      const own = key === '' ? String(Object.keys(into).length) : key
      if (at === keys.length - 1) into[own] = value
      else {
        into[own] ??= {}
        into = into[own] as Form
      }
    }
  }
  return form
}

/** The fields below a name; empty, if it has none. */
export const fieldsOf = (form: Form, name: string): Form => {
  const value = form[name]
  return typeof value === 'object' ? value : {}
}
export const textOf = (form: Form, name: string): string | undefined => {
  const value = form[name]
  return typeof value === 'string' ? value : undefined
}
/** The texts below a name: a list, or `metadata`. */
export const textsOf = (form: Form, name: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fieldsOf(form, name)).filter((it): it is [string, string] => typeof it[1] === 'string'),
  )
