/** How an owner deletes images on the website: they leave the gallery at once, and the rest can be undone for a while. */

/** What a person is told. The removal comes a little later: an undo at the last moment still arrives in time. */
export const UNDO_SECONDS = 10
const ARRIVES_WITHIN_SECONDS = 2

export interface ImageDeletions {
  /** Those of them that are the account's own. Resolves to how many. */
  begin(accountId: string, slugs: readonly string[], seconds: number): Promise<number>
  /** How many can still be brought back. */
  undoable(accountId: string): Promise<number>
  /** Brings all of them back. Resolves to how many. */
  undo(accountId: string): Promise<number>
}

/** Takes images down for their owner soon. Resolves to how many; those of others are left out. */
export const deleteSoon = (deletions: ImageDeletions, accountId: string, slugs: readonly string[]): Promise<number> =>
  deletions.begin(accountId, slugs, UNDO_SECONDS + ARRIVES_WITHIN_SECONDS)
