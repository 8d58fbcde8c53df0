/** How hard the models try: TEST_EFFORT=20 makes twenty times as many runs, TEST_SEED=7 makes others. */
export const effort = Math.max(1, Number(process.env.TEST_EFFORT ?? 1))

/** The test's own seed, unless the run is given another. */
export const seedOf = (own: number): number => Number(process.env.TEST_SEED ?? own)
