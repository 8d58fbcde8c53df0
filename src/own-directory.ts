import { lstat, stat } from 'node:fs/promises'

/** Other users could read, replace or plant files there. */
export class ForeignDirectory extends Error {}

/**
 * @param writers the mode bits of those who must not be able to write to it
 * @throws ForeignDirectory with one sentence when the directory, or a link to it, is neither ours nor root's, or when
 * others may write to it
 */
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
