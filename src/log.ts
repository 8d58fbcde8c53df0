/** What the core asks of a log: facts first, then a constant sentence; never a prompt or a key. */
export interface Log {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}
