import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { givenGeneration, givenUser } from '../support/givens.js'
import { compiled } from '../support/services.js'
import { useEasel } from './easel.js'

const easel = useEasel()

/** Runs command lines, one after the other, in a process of their own. Resolves to their exit codes. */
async function ranIn(directory: string, lines: readonly string[]) {
  const script = `
    const { runCli } = await import(process.argv[1])
    const ran = []
    for (const line of process.argv.slice(2)) {
      const nowhere = { write() {} }
      ran.push([line, await runCli(line.split(' '), process.env, { stdout: nowhere, stderr: nowhere })])
    }
    process.stdout.write(JSON.stringify(ran), () => process.exit())`
  const cli = pathToFileURL(await compiled('src/cli/run-cli.ts')).href
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, cli, ...lines], {
    cwd: directory,
    env: { PATH: process.env.PATH, LOG_LEVEL: 'silent', HOME: directory, TMPDIR: directory },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [text] = await Promise.all([child.stdout.setEncoding('utf8').toArray(), once(child, 'close')])
  return JSON.parse(text.join('')) as [line: string, code: number][]
}

it('commands that only look leave no file behind: where they run, in .easel, for temporary files, in the store', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'easel-looks-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  await mkdir(join(directory, '.easel'), { mode: 0o700 })
  await writeFile(join(directory, '.easel/database-url'), easel.databaseUrl)
  const before = await readdir(directory, { recursive: true })
  const [server, broken] = [await givenServer(), await givenServer()]
  broken.set({ fault: 'wrong_size' })
  const user = await givenUser(easel.db)
  const { id } = await givenGeneration(easel.db, user)
  // The audit waits for the job of one that is queued.
  await easel.json(`jobs cancel ${id}`)
  const check = `backend check ${server.url} --model`
  const succeed = [
    ...['user list', `user show ${user.username}`, `credits history ${user.username}`, `key list ${user.username}`],
    ...['models list', 'queue', 'jobs list', `jobs show ${id}`, `usage ${user.username}`, 'images reconcile', 'audit'],
    ...['moderation list', '--help', '--version', `${check} mine.safetensors`, `${check} mine.safetensors --json`],
  ]
  const fail = [
    ...[`${check} mine.safetensors --strict`, `${check} other`, `backend check ${broken.url} --model mine.safetensors`],
    ...['backend check a1111+http://127.0.0.1:1', 'backend check nonsense', 'user show nobody', 'nonsense'],
  ]
  const ran = await ranIn(directory, [...succeed, ...fail])
  expect(ran).toEqual([...succeed.map((line) => [line, 0]), ...fail.map((line) => [line, 1])])
  expect(await readdir(directory, { recursive: true })).toEqual(before)
})

async function givenServer() {
  const server = await startA1111StandIn({ models: ['mine.safetensors'] })
  onTestFinished(() => server.close())
  return server
}
