const LONGEST = 60

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
    if ([...longer].length > LONGEST) break
    name = longer
  }
  return name || [...(words[0] ?? 'image')].slice(0, LONGEST).join('')
}
