/** OpenAI's clients are given the address with this path; an address without any means it. */
export const DEFAULT_PATH = '/v1'
