/** How users sign in to the website. */
import type { Command } from 'commander'
import type { Role } from '../core/accounts/account.js'
import { LINK_DAYS, LINK_MINUTES } from '../core/accounts/session.js'
import { lengthOf, makeSignInLink, setEmail, setPassword, setRole } from '../core/operator/accounts.js'
import { emailAddress, oneOf, REASON, type ReasonOption } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { OperatorError } from './operator-error.js'
import { facts, jsonOf } from './output.js'

/** Asks for a password, or reads it where nobody can be asked. */
export type ReadPassword = () => Promise<string>

const MINUTES_IN: Readonly<Record<string, number>> = { d: 1440, h: 60, m: 1 }

/** Minutes. */
function validity(text: string): number {
  const [, count, unit] = /^(\d{1,5})([dhm])$/.exec(text) ?? []
  const minutes = Number(count) * (MINUTES_IN[unit ?? ''] ?? 0)
  if (minutes >= 1 && minutes <= LINK_DAYS * 1440) return minutes
  throw new OperatorError(`--valid must be a time from 1m to ${LINK_DAYS}d, like 90m, 12h or 7d, not "${text}".`)
}

export function signInCommands(user: Command, run: Runner, readPassword: ReadPassword): void {
  const askPassword = (operator: Operator, username: string, options: ReasonOption) =>
    changePassword(operator, username, readPassword, options)
  user
    .command('password <username>')
    .description('set the password, asked for or read from standard input; ends all sessions')
    .option(...REASON)
    .action(run(askPassword))
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
    .action(run(changeEmail))
  user
    .command('role <username>')
    .description('set whether a user may open the operator pages of the website')
    .argument('<role>', 'operator or subscriber', oneOf('The role', ['operator', 'subscriber']))
    .option(...REASON)
    .action(run(changeRole))
}

async function changePassword(
  { acting }: Operator,
  name: string,
  readPassword: ReadPassword,
  { reason }: ReasonOption,
) {
  const username = await setPassword(acting(reason), name, readPassword)
  return { json: { username }, text: `${username} has a new password, and every session has ended.` }
}

type LinkOptions = ReasonOption & { readonly valid?: number }

async function makeLink({ config: { baseUrl }, acting }: Operator, name: string, { valid, reason }: LinkOptions) {
  const { url, expiresAt } = await makeSignInLink(acting(reason), name, { baseUrl, minutes: valid })
  return {
    json: jsonOf({ url, expiresAt }),
    text: `${url}\nWorks once, and ends in ${lengthOf(valid ?? LINK_MINUTES)}, at ${expiresAt.toISOString()}.`,
  }
}

async function changeEmail(
  { acting }: Operator,
  name: string,
  address: string | undefined,
  { none, reason }: ReasonOption & { readonly none?: boolean },
) {
  if ((address === undefined) === (none === undefined)) throw new OperatorError('Give an address, or --none.')
  const { username, email } = await setEmail(acting(reason), name, address ?? null)
  return { json: { username, email }, text: facts({ username, email }) }
}

async function changeRole({ acting }: Operator, name: string, role: string, { reason }: ReasonOption) {
  const done = await setRole(acting(reason), name, role as Role)
  return { json: done, text: facts(done) }
}
