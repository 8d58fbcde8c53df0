import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { fairLine } from '../../lib/fair-line.js'
import { AppError, serviceUnavailable } from '../errors.js'
import type { CredentialStore, SessionStore, SignedIn } from './session.js'

/** 32 MiB and about a sixth of a second, as OWASP's cheat sheet on password storage has it. */
const COST = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 1024 * 1024 }
const HASH_BYTES = 32

export const PASSWORD_LENGTH = { min: 10, max: 200 } as const

/** @throws invalid_request unless it can be the password of the account of this name */
export function requireUsablePassword(password: string, username: string): void {
  const { min, max } = PASSWORD_LENGTH
  if ([...password].length < min || password.length > max)
    throw new AppError('invalid_request', `A password has ${min} to ${max} characters. Choose another one.`)
  if (password.trim().toLowerCase() === username.toLowerCase())
    throw new AppError('invalid_request', 'The password must not be the username. Choose another one.')
}

/**
 * Who has a password checked or hashed: an account that is signed in, or a stranger, known by networks, the widest first. Operators
 * are named by nothing.
 */
type Asker = { readonly accountId: string } | { readonly networks: readonly string[] } | undefined

/** `scrypt$N$r$p$salt$hash`, so that the cost, or the algorithm, can change without making old passwords void. */
export async function hashPassword(password: string, asker?: Asker): Promise<string> {
  const salt = randomBytes(16)
  const { N, r, p } = COST
  return [
    'scrypt',
    N,
    r,
    p,
    salt.toString('base64'),
    (await derive(password, salt, COST, asker)).toString('base64'),
  ].join('$')
}

/** Takes equally long where there is nothing stored, so that the time does not tell which accounts exist. */
export async function isPassword(password: string, stored: string | null | undefined, asker?: Asker): Promise<boolean> {
  const [algorithm, N, r, p, salt = '', hash = ''] = (stored ?? '').split('$')
  if (algorithm !== 'scrypt') {
    await derive(password, Buffer.alloc(16), COST, asker)
    return false
  }
  const cost = { N: Number(N), r: Number(r), p: Number(p), maxmem: COST.maxmem }
  const derived = await derive(password, Buffer.from(salt, 'base64'), cost, asker)
  return timingSafeEqual(derived, Buffer.from(hash, 'base64'))
}

export interface OwnerPorts {
  readonly credentials: Pick<CredentialStore, 'find'>
  readonly sessions: Pick<SessionStore, 'list'>
}

/** How long ago somebody without a password may have signed in, to change how they sign in. */
const FRESH_MINUTES = 15

/**
 * A session that was left open, or stolen, must not be enough to take the account over: asks for the password or, where
 * there is none, for a session that has just begun.
 * @throws forbidden
 */
export async function requireOwner(
  { credentials, sessions }: OwnerPorts,
  { caller: { account }, sessionId }: SignedIn,
  password: string,
): Promise<void> {
  const stored = (await credentials.find(account.username))?.passwordHash
  if (stored) {
    if (await isPassword(password, stored, { accountId: account.id })) return
    throw new AppError(
      'forbidden',
      'The current password is not right. Nothing was changed: try again, or sign in by a link, on whose page you can set a new one.',
    )
  }
  const begun = (await sessions.list(account.id)).find(({ id }) => id === sessionId)?.createdAt.getTime() ?? 0
  if (Date.now() - begun > FRESH_MINUTES * 60_000)
    throw new AppError(
      'forbidden',
      `Your account has no password to ask you for. Sign out, sign in again, and do this within ${FRESH_MINUTES} minutes.`,
    )
}

/** @throws invalid_request, forbidden */
export async function changePassword(
  ports: OwnerPorts & { readonly credentials: Pick<CredentialStore, 'setPassword'> },
  signedIn: SignedIn,
  { current, next }: { readonly current: string; readonly next: string },
): Promise<void> {
  requireUsablePassword(next, signedIn.caller.account.username)
  await requireOwner(ports, signedIn, current)
  const { id: accountId } = signedIn.caller.account
  await ports.credentials.setPassword(accountId, await hashPassword(next, { accountId }), signedIn.sessionId)
}

/** About forty seconds: with places for few, strangers of as many networks would keep out all others. */
const MAX_WAITING = 240

/**
 * One at a time: each takes a core for a sixth of a second, and many at once would leave none to those who are signed in.
 * Strangers, accounts and operators take turns, strangers by network, so that nobody keeps the others out.
 */
const takeTurn = fairLine({ atOnce: 1, mostWaiting: MAX_WAITING }, () => serviceUnavailable(5))

const pathOf = (asker: Asker): readonly string[] => {
  if (!asker) return ['operators']
  return 'accountId' in asker ? ['accounts', asker.accountId] : ['strangers', ...asker.networks]
}

/** @throws unavailable when too many wait */
const derive = (password: string, salt: Buffer, cost: ScryptOptions, asker: Asker): Promise<Buffer> =>
  takeTurn(pathOf(asker), () => scryptOf(password, salt, cost))

// Unicode writes some letters in more than one way, and keyboards differ.
const scryptOf = (password: string, salt: Buffer, cost: ScryptOptions) =>
  new Promise<Buffer>((resolve, reject) =>
    scrypt(password.normalize('NFKC'), salt, HASH_BYTES, cost, (error, hash) =>
      error ? reject(error) : resolve(hash),
    ),
  )

/** Passwords that accounts still have count as none: nobody is asked for one, and none is right. */
export const withoutPasswords = <T extends Pick<CredentialStore, 'find'>>(store: T): T => ({
  ...store,
  async find(nameOrEmail: string) {
    const found = await store.find(nameOrEmail)
    return found && { ...found, passwordHash: null }
  },
})
