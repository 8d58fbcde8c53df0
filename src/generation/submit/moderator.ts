/** `parameter` is the request's field the verdict is about. */
export type Verdict =
  | { readonly flagged: false }
  | {
      readonly flagged: true
      readonly parameter: 'prompt' | 'negative_prompt'
      readonly category: string
      readonly matched: readonly string[]
    }

export interface Moderator {
  /**
   * Reviews a prompt before anything is locked or charged.
   * @throws AppError `unavailable` when the prompt must not pass unchecked and could not be checked
   */
  review(text: {
    readonly prompt: string
    readonly negativePrompt: string
    readonly nsfwModel: boolean
  }): Promise<Verdict>
}
