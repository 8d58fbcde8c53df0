/** Servers give image n the seed + n and never wrap: a batch that passes 2^32 - 1 becomes two calls. */
export function consecutiveRuns(seeds: readonly number[]): number[][] {
  const runs: number[][] = []
  for (const seed of seeds) {
    const run = runs.at(-1)
    if (run && seed === (run.at(-1) as number) + 1) run.push(seed)
    else runs.push([seed])
  }
  return runs
}
