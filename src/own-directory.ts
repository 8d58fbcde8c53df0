import { lstat, stat } from 'node:fs/promises'

/** Other users could read, replace or plant files there. */
export class ForeignDirectory extends Error {}

/** @throws ForeignDirectory unless it, and a link to it, is ours or root's and closed to `writers` (mode bits) */
export async function requireOwn(directory: string, writers = 0o022): Promise<void> {
  const [link, found] = await Promise.all([lstat(directory), stat(directory)])
  const trusted = [process.geteuid?.(), 0]
  const stranger = [link, found].find(({ uid }) => !trusted.includes(uid))
  if (stranger)
    throw new ForeignDirectory(
      `${directory} belongs to another user (uid ${stranger.uid}): run as that user, or use another directory.`,
    )
  if (found.mode & writers)
    throw new ForeignDirectory(
      `Other users may write to ${directory}: remove what is not yours there, then run "chmod go-w ${directory}".`,
    )
}
