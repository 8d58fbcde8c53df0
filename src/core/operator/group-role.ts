import type { Administration } from './administration.js'
import type { Recorded } from './operator-actions.js'

interface Stores {
  readonly accounts: Pick<Administration['accounts'], 'setRoleFromGroup'>
}

/** Makes an operator of who signs in with the operators' group, and takes from who signs in without it what came from it. */
export const applyGroupRole = (recorded: Recorded<Stores>, accountId: string, isInGroup: boolean): Promise<unknown> =>
  recorded(
    ({ accounts }) => accounts.setRoleFromGroup(accountId, isInGroup),
    (username) =>
      username === undefined
        ? undefined
        : {
            actor: 'identity provider',
            action: `made ${isInGroup ? 'an operator' : 'a subscriber'}`,
            target: username,
            reason: `signed in ${isInGroup ? 'with' : 'without'} the group of OIDC_OPERATOR_GROUP`,
          },
  )
