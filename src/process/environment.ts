/** The variables of a process, as files and shells hand them over. */
import { readFileSync } from 'node:fs'

/** A configuration that can't be used; the message names each variable and what it should be. */
export class ConfigError extends Error {}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * A value without what files leave at it: line ends, blanks, the mark of an encoding, and the quotes that `docker --env-file`,
 * `kubectl --from-env-file` and others keep.
 */
function plain(value: string | undefined): string | undefined {
  const trimmed = value?.trim()
  const quote = trimmed?.[0]
  const isQuoted = trimmed !== undefined && trimmed.length > 1 && (quote === '"' || quote === "'")
  return isQuoted && trimmed.endsWith(quote) ? trimmed.slice(1, -1) : trimmed
}

/** What libraries read by themselves; Node reads its own variables before any of this runs. */
const READ_BY_LIBRARIES = /^(?:OTEL_|AWS_|PG|(?:https?|no|all)_proxy$)/i

/** Writes what libraries read in the plain form that readEnvironment gives to our own variables. */
export function tidyForLibraries(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(env).filter((it) => READ_BY_LIBRARIES.test(it))) {
    const value = plain(env[name])
    if (value) env[name] = value
    else delete env[name]
  }
}

/** NAME_FILE names a file that holds the value of NAME, such as a secret of Docker's. @throws ConfigError */
function withSecretFiles(env: Environment, names: readonly string[]): Environment {
  const given: Record<string, string | undefined> = { ...env }
  for (const name of names) {
    const path = plain(env[`${name}_FILE`])
    if (!path) continue
    if (plain(env[name])) throw new ConfigError(`${name} and ${name}_FILE are both set: leave one of them out`)
    try {
      given[name] = readFileSync(path, 'utf8')
      delete given[`${name}_FILE`]
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new ConfigError(`${name}_FILE names ${path}, which can't be read (${code})`)
    }
  }
  return given
}

/**
 * The variables that are set, in plain form.
 * @param names of those that may come from a file
 * @throws ConfigError with one readable line
 */
export function readEnvironment(env: Environment, names: readonly string[]): Environment {
  const values = Object.entries(withSecretFiles(env, names)).map(([name, value]) => [name, plain(value)] as const)
  // An empty variable, as compose files write one that is not set, counts as absent.
  return Object.fromEntries(values.filter(([, value]) => value !== ''))
}
