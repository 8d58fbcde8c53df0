/** How often a generation is tried, and for how long a worker waits before it does what. */

/** A generation has this many tries in all. */
export const MAX_TRIES = 3
/** A generation fails when this many workers have died while running it. */
export const MAX_DEATHS = 5

/** The lease of an attempt. A dead worker's generations wait so long. Longer than three times `heartbeatMs`. */
export const LEASE_SECONDS = 7
/** Without a confirmed heartbeat for this long, a worker stops the attempt: another worker may take over soon. */
export const LEASE_DOUBT_MS = 5500

/** Of the loop of a backend; other times are for tests. */
export const RUN_TIMES = {
  /** How often a backend that is up is asked what it serves, and reported as alive. */
  checkMs: 5000,
  /** The pause before the first probe after an outage, doubling up to the cap. */
  probeMs: 500,
  probeCapMs: 4000,
  /** How long a failing model or sampler is left out at first, doubling up to a cap. */
  leftOutMs: 500,
  /** How long a definition is left out for which the server was found to lack something: until the checks know what. */
  lacksMs: 10_000,
  /** The most that a generation whose inference failed waits for its second try, doubling with each. */
  retryMs: 500,
  /** How long a generation waits whose connection broke, so that another one goes first. */
  droppedMs: 2000,
  /** For how long moderation is asked again about an image while it gives no answer. */
  checkImageForMs: 5000,
  /** For how long drawn images are kept in memory and put again while the store refuses them. */
  storeForMs: 120_000,
  /** How often the lease of an attempt is renewed: three times within `LEASE_SECONDS`. */
  heartbeatMs: 2000,
}

export type RunTimes = Readonly<typeof RUN_TIMES>
