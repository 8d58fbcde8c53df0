/** How users sign in to the website. */
import type { Command } from 'commander'
import type { Role } from '../account/account.js'
import { hashPassword, passwordProblem } from '../account/password.js'
import { newSignInLink } from '../account/session.js'
import { operatorUserStore } from '../db/account-store.js'
import type { Database } from '../db/client.js'
import { credentialStore } from '../db/session-store.js'
import { emailAddress, oneOf, REASON, type ReasonOption, requireUser } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { OperatorError } from './operator-error.js'
import { facts, jsonOf } from './output.js'

/** Asks for a password, or reads it where nobody can be asked. */
export type ReadPassword = () => Promise<string>

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
    .description('make a link that signs in to the website once, within 15 minutes')
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

async function makeLink({ db, config, recorded }: Operator, name: string, { reason }: ReasonOption) {
  const { id, username } = await requireUser(db, name)
  const work = (on: Database) => newSignInLink(credentialStore(on), id, config.baseUrl)
  const { url, expiresAt } = await recorded(reason, work, () => ['made a sign-in link', username])
  return { json: jsonOf({ url, expiresAt }), text: `${url}\nWorks once, until ${expiresAt.toISOString()}.` }
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
