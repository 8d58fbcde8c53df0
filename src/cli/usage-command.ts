import type { Command } from 'commander'
import { operatorUsageStore } from '../db/api-key-store.js'
import type { Answer, Runner } from './answer.js'
import { moment } from './arguments.js'
import type { Operator } from './connection.js'
import { table } from './layout.js'
import { OperatorError } from './operator-error.js'
import { requireUser } from './user-view.js'

export function usageCommand(program: Command, run: Runner): void {
  program
    .command('usage')
    .description('images made with developer keys, per key and model')
    .argument('<username>')
    .option('--since <date>', 'from this moment on', moment('--since'))
    .option('--until <date>', 'before this moment', moment('--until'))
    .action(run.connected(showUsage))
}

interface UsageOptions {
  readonly since?: Date
  readonly until?: Date
}

async function showUsage({ db, config }: Operator, username: string, { since, until }: UsageOptions): Promise<Answer> {
  if (since && until && since >= until) throw new OperatorError('--since must lie before --until.')
  const user = await requireUser(db, username)
  const rows = await operatorUsageStore(db).of(user.id, since, until)
  const hintOf = (hint: string) => `${config.keyPrefix}_…${hint}`
  return {
    json: rows.map(({ keyId, keyName, hint, modelVersionId, modelName, modelVersionName, images }) => ({
      key_id: keyId,
      key_name: keyName,
      hint: hintOf(hint),
      model_version_id: modelVersionId,
      model_name: modelName,
      model_version_name: modelVersionName,
      images,
    })),
    text: table(
      ['key', 'name', 'model', 'version', 'version id', 'images'],
      rows.map(({ keyName, hint, modelVersionId, modelName, modelVersionName, images }) => [
        ...[hintOf(hint), keyName, modelName, modelVersionName, modelVersionId, images],
      ]),
      'No images were made with developer keys in that time.',
    ),
  }
}
