import { spawn } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'

/**
 * Ends what a run started when the run itself was killed: a shell in a session of its own waits for the end of the pipe
 * from us. A process is ended by its id, and only while its command line still names what we started.
 */
export interface Watchdog {
  /** @param mark a text that the process's command line holds and no other's does */
  note(pid: number, mark: string): void
  forget(pid: number): void
  /** Nothing is left to end. */
  dismiss(): void
}

const SCRIPT = `
  cat > /dev/null
  for round in 1 2 3; do
    for file in "$1"/pids/*; do
      [ -f "$file" ] || continue
      pid=$(basename "$file")
      if ps -ww -o command= -p "$pid" | grep -qF -- "$(cat "$file")"; then
        # A paused Postgres must run to see its signal, which lets it end its own children.
        for child in $(ps -A -o pid= -o ppid= | awk -v p="$pid" '$2 == p { print $1 }'); do kill -CONT "$child"; done
        kill -CONT "$pid"
        case $(cat "$file") in -D*) kill -QUIT "$pid" ;; *) kill -KILL "$pid" ;; esac
      fi
    done
    sleep 0.3
  done
  rm -rf "$1"`

/** @param directory removed with the processes */
export function startWatchdog(directory: string): Watchdog {
  const pids = join(directory, 'pids')
  mkdirSync(pids, { recursive: true })
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'sh', directory], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  shell.unref()
  const pipe = shell.stdin as Socket
  pipe.unref()
  return {
    note: (pid, mark) => writeFileSync(join(pids, String(pid)), mark),
    forget: (pid) => rmSync(join(pids, String(pid)), { force: true }),
    dismiss: () => void shell.kill('SIGKILL'),
  }
}
