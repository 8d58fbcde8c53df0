import { AppError, invalidParameter } from '../errors.js'
import type { AccountMails } from './account-mails.js'
import { type OwnerPorts, requireOwner } from './password.js'
import type { CredentialStore, SignedIn } from './session.js'

interface Ports extends OwnerPorts {
  readonly mails: Pick<AccountMails, 'sendConfirmation' | 'sendEmailWarning'>
}

/**
 * Has a link sent to the address that the account is to have, and tells the address that it has now. The account gets it
 * when that link is used.
 * @param email one that is well formed
 * @param language of both mails
 * @throws invalid_request, forbidden; rate_limited: too many mails went to that address
 */
export async function changeEmail(
  ports: Ports,
  signedIn: SignedIn,
  { email, password, language }: { readonly email: string; readonly password: string; readonly language: string },
): Promise<void> {
  if (email.toLowerCase() === signedIn.email?.toLowerCase())
    throw invalidParameter('email', 'This is your address already. Fill in the new one.')
  await requireOwner(ports, signedIn, password)
  await sendTo(ports, signedIn, email, language)
  if (signedIn.email)
    ports.mails.sendEmailWarning({ ...signedIn.caller.account, email: signedIn.email }, email, language)
}

/** Sends the link for the address that waits to be confirmed once more; links from before work no longer. @throws rate_limited */
export async function sendConfirmationAgain(
  ports: Pick<Ports, 'mails'> & { readonly credentials: Pick<CredentialStore, 'pendingEmail'> },
  signedIn: SignedIn,
  language: string,
): Promise<void> {
  const pending = await ports.credentials.pendingEmail(signedIn.caller.account.id)
  if (!pending) throw new AppError('not_found', 'No address waits to be confirmed. Fill in the one that you want.')
  await sendTo(ports, signedIn, pending.email, language)
}

async function sendTo({ mails }: Pick<Ports, 'mails'>, { caller }: SignedIn, email: string, language: string) {
  if (!(await mails.sendConfirmation(caller.account.id, email, language)))
    throw new AppError('rate_limited', 'Too many mails were sent to this address. Wait a quarter of an hour.')
}
