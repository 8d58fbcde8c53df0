import { lstat, stat } from 'node:fs/promises'

/** Other users could read, replace or plant files there. */
export class ForeignDirectory extends Error {}

interface Trust {
  /** Who must not be able to write, as mode bits. */
  readonly writers: number
  /** Whether the directory may be another user's if we may write to it by its group, which is ours or root's. */
  readonly ofGroup?: boolean
  /** What else can be done, as a sentence. */
  readonly otherwise?: string
}

/** @throws ForeignDirectory unless it, and a link to it, is ours or root's and closed to `writers` */
export async function requireOwn(
  directory: string,
  { writers, ofGroup = false, otherwise }: Trust = { writers: 0o022 },
): Promise<void> {
  const hint = otherwise ? ` ${otherwise}` : ''
  const [link, found] = await Promise.all([lstat(directory), stat(directory)])
  const trusted = [process.geteuid?.(), 0]
  const groups = [0, process.getegid?.(), ...(process.getgroups?.() ?? [])]
  const isOurGroups = ofGroup && groups.includes(found.gid) && (found.mode & 0o020) !== 0
  // Whoever owns a link may point it elsewhere.
  const strangers = [link, found].filter(({ uid }) => !trusted.includes(uid))
  const stranger = strangers.find((it) => it.isSymbolicLink() || !isOurGroups)
  if (stranger)
    throw new ForeignDirectory(
      `${directory} belongs to another user (uid ${stranger.uid}): run as that user, or use another directory.${hint}`,
    )
  if (found.mode & writers)
    throw new ForeignDirectory(
      `Other users may write to ${directory}: remove what is not yours there, then run "chmod go-w ${directory}".${hint}`,
    )
}
