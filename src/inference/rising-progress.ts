/** A report of progress that never falls and never throws: progress is a courtesy. */
export function risingProgress(report: ((progress: number) => void) | undefined): (progress: number) => void {
  let highest = 0
  return (progress) => {
    if (progress <= highest) return
    highest = progress
    try {
      report?.(progress)
    } catch {
      // the listener's trouble, not the generation's
    }
  }
}
