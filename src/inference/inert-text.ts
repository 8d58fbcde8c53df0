/** A subscriber's text for servers that take parts of a prompt for orders, written so that it stays text. */

/**
 * For AUTOMATIC1111 and its kin, and for LocalAI: `<lora:name:1>`, `<hypernet:…>` and the like load a file of that name.
 * They know it by a `<` before a word and a colon. With a space between, CLIP still reads the same tokens.
 */
export const inertText = (text: string): string => text.replace(/<(?=[\p{L}\p{M}\p{N}_]+:)/gu, '< ')

/**
 * For SD.Next and for nodes of ComfyUI that read wildcards, which also write a line of the file `x` for `__x__`. Before both, it removes comments and one of `{a|b}`
 * takes the place of the braces: what is left may be a `<lora:` or a `__` that was none before.
 */
export function inertTextForWildcards(text: string): string {
  if (!/[{}]|\/\*/.test(text)) return /__.*__/s.test(text) ? inertText(text).replace(/_(?=_)/g, '_ ') : inertText(text)
  const withoutFiles = text.includes(':') ? text.replaceAll('<', '‹') : text
  return (text.match(/_/g)?.length ?? 0) < 4 ? withoutFiles : withoutFiles.replaceAll('_', ' ')
}
