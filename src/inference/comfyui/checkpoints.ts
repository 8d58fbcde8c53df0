/**
 * The names under which the catalog may have a server's checkpoints, each with the server's own spelling: its full name
 * with either slash, and its base name where only one checkpoint has it.
 */
export function checkpointNames(listed: readonly string[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  const offer = (name: string, checkpoint: string) => {
    if (!names.has(name)) names.set(name, checkpoint)
  }
  for (const checkpoint of listed) names.set(checkpoint, checkpoint)
  for (const checkpoint of listed) offer(checkpoint.replaceAll('\\', '/'), checkpoint)
  const baseNames = listed.map(baseName)
  for (const [i, checkpoint] of listed.entries()) {
    const name = baseNames[i] as string
    if (baseNames.indexOf(name) === baseNames.lastIndexOf(name)) offer(name, checkpoint)
  }
  return names
}

const baseName = (checkpoint: string) => checkpoint.replace(/^.*[\\/]/, '')
