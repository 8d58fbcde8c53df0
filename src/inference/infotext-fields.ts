/** A field of an infotext by its name; undefined where the server did not write it. */
export type Fields = (key: string) => string | undefined

/** An infotext is the prompts, which may say anything, and then one line of `Key: value, …` that the server wrote. */
export function fieldsOf(infotext: string): Fields {
  const line = infotext.slice(infotext.lastIndexOf('\n') + 1)
  return (key) => new RegExp(`(?:^|, )${key}: ("(?:\\\\.|[^"\\\\])*"|[^,]*)`).exec(line)?.[1]?.replace(/^"|"$/g, '')
}
