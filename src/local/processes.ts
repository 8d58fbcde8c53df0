import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

/**
 * Which process this is, for others to recognise it by: a process ID alone is soon someone else's, above all in a
 * container that restarts.
 */
export const describeThisProcess = async (): Promise<string> => `${process.pid} ${await startTimeOf(process.pid)}`

/** Whether the process so described still lives. */
export async function isAlive(description: string): Promise<boolean> {
  const [pid, startTime] = splitOnce(description.trim())
  return startTime !== '' && (await startTimeOf(Number(pid))) === startTime
}

/** Whether a live process has this exact argument in its command line. */
export async function runsWith(pid: number, argument: string): Promise<boolean> {
  if (process.platform === 'linux') {
    const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    return commandLine.split('\0').includes(argument)
  }
  return ` ${await ps(pid, 'command')} `.includes(` ${argument} `)
}

/** Undefined for a process that has ended, reaped or not. */
async function startTimeOf(pid: number): Promise<string | undefined> {
  if (!Number.isSafeInteger(pid) || pid < 1) return undefined
  if (process.platform !== 'linux') return (await ps(pid, 'lstart')) || undefined
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The second field is the program's name in parentheses, which may hold anything; the state and 18 more come first.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' ? undefined : fields[19]
}

const ps = (pid: number, column: string) =>
  promisify(execFile)('ps', ['-ww', '-o', `${column}=`, '-p', String(pid)]).then(
    ({ stdout }) => stdout.trim(),
    () => '',
  )

function splitOnce(text: string): [string, string] {
  const space = text.indexOf(' ')
  return space < 0 ? [text, ''] : [text.slice(0, space), text.slice(space + 1)]
}
