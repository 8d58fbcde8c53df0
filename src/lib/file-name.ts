const LONGEST = 60
/** File systems count bytes, at most 255 of them: a seed, a number and an ending come behind these. */
const MOST_BYTES = 180

const fits = (name: string) => [...name].length <= LONGEST && Buffer.byteLength(name) <= MOST_BYTES

/** A file's name from what a person wrote: its letters and digits in small letters, the rest as hyphens. */
export function fileNameOf(text: string): string {
  const words =
    text
      .normalize('NFC')
      .toLowerCase()
      .match(/[\p{L}\p{N}][\p{L}\p{M}\p{N}]*/gu) ?? []
  let name = ''
  for (const word of words) {
    const longer = name === '' ? word : `${name}-${word}`
    if (!fits(longer)) break
    name = longer
  }
  if (name) return name
  const letters = [...(words[0] ?? 'image')].slice(0, LONGEST)
  while (!fits(letters.join(''))) letters.pop()
  return letters.join('')
}
