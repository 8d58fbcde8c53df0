/** How an account is deleted by its owner: it ends at once, and a loop in every server wipes what is theirs. */
import { AppError, invalidParameter } from '../errors.js'
import { type DeleteAccountPorts, deleteAccount } from './delete-account.js'
import { type OwnerPorts, requireOwner } from './password.js'
import type { SignedIn } from './session.js'

export interface AccountPurges {
  /** Decides it: from then on everything follows, whatever crashes. */
  add(accountId: string): Promise<void>
  /** One that is due; unless it is finished, it is due again some minutes later. */
  claimDue(): Promise<string | undefined>
  finish(accountId: string): Promise<void>
}

interface Ports extends OwnerPorts {
  readonly purges: Pick<AccountPurges, 'add'>
  readonly stores: DeleteAccountPorts
}

/**
 * @param username typed, so that nobody deletes an account by a mistaken click
 * @throws invalid_request, forbidden
 */
export async function deleteOwnAccount(
  ports: Ports,
  signedIn: SignedIn,
  { username, password }: { readonly username: string; readonly password: string },
): Promise<void> {
  const { account } = signedIn.caller
  if (signedIn.role === 'operator')
    throw new AppError('forbidden', 'You are an operator: have another one make yours an ordinary account first.')
  if (username.toLowerCase() !== account.username.toLowerCase())
    throw invalidParameter('username', 'This is not the name of your account. Type it as it is written above.')
  await requireOwner(ports, signedIn, password)
  await ports.purges.add(account.id)
  await deleteAccount(ports.stores, account.id)
}
