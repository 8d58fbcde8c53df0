/** What waits, runs and fails, and pausing it. */
import type { Command } from 'commander'
import { totalsOf } from '../core/operator/overview.js'
import { nameOf, type Pausable, pause, resume } from '../core/operator/pauses.js'
import { oversight } from '../db/operator/overview.js'
import { REASON, type ReasonOption } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { OperatorError } from './operator-error.js'
import { facts, jsonOf, table } from './output.js'

export function queueCommands(program: Command, run: Runner): void {
  program.command('queue').description('show what waits, runs and fails, and the backends').action(run(showQueue))
  program
    .command('pause')
    .description('start nothing, or nothing of one model or on one backend; what runs goes on')
    .option('--model <file>', 'only what needs this model file')
    .option('--backend <name>', 'only on this backend, named as in "easel queue"')
    .requiredOption(...REASON)
    .action(run(pauseClaims))
  program
    .command('resume')
    .description('end a pause')
    .option('--model <file>', 'the pause of this model file')
    .option('--backend <name>', 'the pause of this backend')
    .option(...REASON)
    .action(run(resumeClaims))
}

type PauseOptions = ReasonOption & { readonly model?: string; readonly backend?: string }

function pausableOf({ model, backend }: PauseOptions): Pausable {
  if (model !== undefined && backend !== undefined) throw new OperatorError('Give --model or --backend, not both.')
  if (model !== undefined) return { scope: 'model', target: model }
  return backend === undefined ? { scope: 'all', target: '' } : { scope: 'backend', target: backend }
}

async function pauseClaims({ stores, by }: Operator, options: PauseOptions) {
  const what = pausableOf(options)
  await pause(stores.pauses, what, by(options.reason))
  return { json: { ...what, paused: true }, text: `Paused: ${nameOf(what)}. What runs goes on.` }
}

async function resumeClaims({ stores, by }: Operator, options: PauseOptions) {
  const what = pausableOf(options)
  await resume(stores.pauses, what, by(options.reason))
  return { json: { ...what, paused: false }, text: `Resumed: ${nameOf(what)}.` }
}

async function showQueue({ db }: Operator) {
  const overview = await oversight(db).overview()
  const { queue, running, runningCount, failures, backends, pauses, imagesLastHour, failedLastHour } = overview
  const { waiting, oldestAt } = totalsOf(overview)
  const parts = [
    facts({
      ...{ waiting, running: runningCount, 'waits since': oldestAt },
      ...{ 'images in the last hour': imagesLastHour, 'failed in the last hour': failedLastHour },
    }),
    table(pauses.map(({ scope, target, reason, pausedAt: since }) => ({ paused: scope, target, since, reason }))),
    table(
      queue.map(({ lane, filename: model, count, oldestAt: oldest, firstPlace, lastPlace }) => ({
        ...{ lane, model, waiting: count, 'waits since': oldest, 'first place': firstPlace, 'last place': lastPlace },
      })),
    ),
    table(
      running.map(({ id, username, filename, backend, startedAt }) => ({
        id,
        user: username,
        model: filename,
        backend,
        started: startedAt,
      })),
    ),
    table(
      backends.map(({ name: backend, worker, up, loaded, models, seenAt, error, errorAt }) => ({
        ...{ backend, worker, up, loaded, models: models?.length ?? 'any', seen: seenAt },
        ...{ 'last error at': errorAt, 'last error': error },
      })),
    ),
    table(failures.map(({ count: failed, reason }) => ({ failed, reason }))),
  ]
  return {
    json: {
      ...{ waiting, running: runningCount, oldest_at: oldestAt ?? null },
      ...jsonOf(overview, 'imagesLastHour', 'failedLastHour'),
      queue: queue.map((it) => jsonOf(it)),
      running_generations: running.map((it) =>
        jsonOf(it, 'id', 'lane', 'filename', 'username', 'worker', 'backend', 'startedAt'),
      ),
      backends: backends.map((it) => jsonOf(it)),
      failures: failures.map((it) => jsonOf(it, 'reason', 'count')),
      pauses: pauses.map((it) => jsonOf(it)),
    },
    text: parts.filter(Boolean).join('\n\n'),
  }
}
