/** What both programs do around their trials. */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Around {
  readonly directory: string
  /** What ends what was started, which is called in the reverse order. */
  readonly stops: (() => Promise<unknown>)[]
  /** Keeps the directory, and shows what Easel logs. */
  readonly keep: boolean
}

/**
 * Gives each of the trials a directory, ends what it has started, also on Ctrl-C, and then ends this process: with 1 if
 * anything went wrong.
 * @param trials each resolves to how many things went wrong
 */
export async function runTrials(
  keep: boolean,
  trials: readonly ((around: Around) => Promise<number>)[],
): Promise<never> {
  const stops: (() => Promise<unknown>)[] = []
  const stopAll = async () => {
    for (const stop of stops.splice(0).reverse()) await stop().catch(console.error)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => void stopAll().then(() => process.exit(1)))
  let wrong = 0
  try {
    for (const trial of trials) {
      const directory = await mkdtemp(join(tmpdir(), 'easel-failover-'))
      await chmod(directory, 0o755)
      stops.push(async () =>
        keep
          ? console.log(`The logs are in ${directory}`)
          : rm(directory, { recursive: true, force: true, maxRetries: 5 }),
      )
      wrong += await trial({ directory, stops, keep })
      await stopAll()
    }
  } catch (error) {
    console.error(error)
    wrong++
  }
  await stopAll()
  process.exit(wrong > 0 ? 1 : 0)
}
