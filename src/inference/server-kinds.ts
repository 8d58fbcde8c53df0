/** The kinds of GPU servers, by which an entry of INFERENCE_URL begins: for each, create-backend.ts has a backend, recognize.ts a mark. */
export const SERVER_KINDS = ['comfyui', 'a1111', 'sdcpp', 'openai'] as const

export type ServerKind = (typeof SERVER_KINDS)[number]

/** How an entry of each kind begins, for errors: `comfyui+http://…, a1111+http://…, sdcpp+http://… or openai+http://…`. */
export const serverEntries = (scheme: 'http' | 'https' = 'http'): string =>
  SERVER_KINDS.map((kind) => `${kind}+${scheme}://…`)
    .join(', ')
    .replace(/, (?!.*, )/, ' or ')
