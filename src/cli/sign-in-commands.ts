/** How users sign in to the website. */
import type { Command } from 'commander'
import type { Role } from '../core/accounts/account.js'
import { hashPassword, passwordProblem } from '../core/accounts/password.js'
import { LINK_MINUTES, newSignInLink } from '../core/accounts/session.js'
import { operatorUserStore } from '../db/accounts/accounts.js'
import { credentialStore } from '../db/accounts/sessions.js'
import type { Database } from '../db/client.js'
import { emailAddress, oneOf, REASON, type ReasonOption, requireUser } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { OperatorError } from './operator-error.js'
import { facts, jsonOf } from './output.js'

/** Asks for a password, or reads it where nobody can be asked. */
export type ReadPassword = () => Promise<string>

const UNITS = [
  ['d', 1440, 'day'],
  ['h', 60, 'hour'],
  ['m', 1, 'minute'],
] as const
/** Whoever finds the link signs in: one that lies about for longer is found. */
const MAX_VALID_MINUTES = 7 * 1440

/** Minutes. */
function validity(text: string): number {
  const [, count, unit] = /^(\d{1,5})([dhm])$/.exec(text) ?? []
  const minutes = Number(count) * (UNITS.find(([it]) => it === unit)?.[1] ?? 0)
  if (minutes >= 1 && minutes <= MAX_VALID_MINUTES) return minutes
  throw new OperatorError(`--valid must be a time from 1m to 7d, like 90m, 12h or 7d, not "${text}".`)
}

/** In the largest unit that says it exactly. */
function lengthOf(minutes: number): string {
  const [, size, word] = UNITS.find(([, it]) => minutes % it === 0) ?? UNITS[2]
  return `${minutes / size} ${word}${minutes === size ? '' : 's'}`
}

export function signInCommands(user: Command, run: Runner, readPassword: ReadPassword): void {
  const setPassword = (operator: Operator, username: string, options: ReasonOption) =>
    changePassword(operator, username, readPassword, options)
  user
    .command('password <username>')
    .description('set the password, asked for or read from standard input; ends all sessions')
    .option(...REASON)
    .action(run(setPassword))
  user
    .command('sign-in-link <username>')
    .description('make a link that signs in to the website once')
    .option('--valid <time>', `for how long, like 90m, 12h or 7d (default: ${LINK_MINUTES}m)`, validity)
    .option(...REASON)
    .action(run(makeLink))
  user
    .command('email <username>')
    .description('set the address to which sign-in links are sent')
    .argument('[address]', 'the address', emailAddress)
    .option('--none', 'remove the address')
    .option(...REASON)
    .action(run(setEmail))
  user
    .command('role <username>')
    .description('set whether a user may open the operator pages of the website')
    .argument('<role>', 'operator or subscriber', oneOf('The role', ['operator', 'subscriber']))
    .option(...REASON)
    .action(run(setRole))
}

async function changePassword(
  { db, recorded }: Operator,
  name: string,
  readPassword: ReadPassword,
  { reason }: ReasonOption,
) {
  const { id, username } = await requireUser(db, name)
  const password = await readPassword()
  const problem = passwordProblem(password, username)
  if (problem) throw new OperatorError(problem)
  const hash = await hashPassword(password)
  const work = (on: Database) => credentialStore(on).setPassword(id, hash, undefined)
  await recorded(reason, work, () => ['set the password', username])
  return { json: { username }, text: `${username} has a new password, and every session has ended.` }
}

type LinkOptions = ReasonOption & { readonly valid?: number }

async function makeLink({ db, config, recorded }: Operator, name: string, { valid, reason }: LinkOptions) {
  const { id, username } = await requireUser(db, name)
  const lasts = valid === undefined ? '' : ` that is valid for ${lengthOf(valid)}`
  const work = (on: Database) => newSignInLink(credentialStore(on), id, config.baseUrl, valid)
  const { url, expiresAt } = await recorded(reason, work, () => [`made a sign-in link${lasts}`, username])
  return {
    json: jsonOf({ url, expiresAt }),
    text: `${url}\nWorks once, and ends in ${lengthOf(valid ?? LINK_MINUTES)}, at ${expiresAt.toISOString()}.`,
  }
}

async function setEmail(
  { db, recorded }: Operator,
  name: string,
  address: string | undefined,
  { none, reason }: ReasonOption & { readonly none?: boolean },
) {
  if ((address === undefined) === (none === undefined)) throw new OperatorError('Give an address, or --none.')
  const { id, username } = await requireUser(db, name)
  const email = address ?? null
  const action = email ? 'changed the email address' : 'removed the email address'
  const work = (on: Database) => operatorUserStore(on).setEmail(id, email)
  if (!(await recorded(reason, work, (isSet) => (isSet ? [action, username] : undefined))))
    throw new OperatorError(`Another user has the address ${email}: "easel user list" shows who.`)
  return { json: { username, email }, text: facts({ username, email }) }
}

async function setRole({ db, recorded }: Operator, name: string, role: string, { reason }: ReasonOption) {
  const { id, username } = await requireUser(db, name)
  const action = `made ${role === 'operator' ? 'an operator' : 'a subscriber'}`
  const work = (on: Database) => operatorUserStore(on).setRole(id, role as Role)
  await recorded(reason, work, () => [action, username])
  return { json: { username, role }, text: facts({ username, role }) }
}
