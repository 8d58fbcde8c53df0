/** One attempt of a generation, as its job in the queue names it. */
export interface Delivery {
  readonly id: string
  readonly attempt: number
}

/** A job says that there is work; the claim in Postgres decides which. */
export interface GenerationQueue {
  /** Best effort within a deadline, never an error. Resolves to whether the jobs are known to be in the queue. */
  enqueue(deliveries: readonly Delivery[]): Promise<boolean>
  /** Removes the job of an attempt that was claimed or ended without it; best effort. */
  withdraw(delivery: Delivery): Promise<void>
}
