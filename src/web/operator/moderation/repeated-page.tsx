import type { SignedIn } from '../../../core/accounts/session.js'
import type { RepeatedRefusals } from '../../../core/operator/refused-prompts.js'
import { address, Moment, number } from '../../parts/text.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { Table } from '../parts/operator-parts.js'

interface RepeatedPageProps {
  readonly signedIn: SignedIn
  readonly accounts: readonly RepeatedRefusals[]
}

const PATH = '/operator/moderation'

/** The accounts that were refused something about minors more than once. */
export const RepeatedPage = ({ signedIn, accounts }: RepeatedPageProps) => (
  <OperatorLayout
    title="Repeated refusals about minors"
    signedIn={signedIn}
    path={`${PATH}/repeated`}
    aside={<a href={PATH}>All refusals</a>}
  >
    <Table
      name="Accounts with more than one in the last 30 days"
      columns={[['User'], ['Refusals', 'number'], ['First'], ['Last']]}
      empty="No account had two such refusals."
    >
      {accounts.map(({ username, count, firstAt, lastAt }) => (
        <tr>
          <td>
            <a class="user" href={`/operator/users/${encodeURIComponent(username)}`}>
              {username}
            </a>
          </td>
          <td class="number">
            <a href={address(PATH, { user: username })}>{number(count)}</a>
          </td>
          <td class="when">
            <Moment at={firstAt} />
          </td>
          <td class="when">
            <Moment at={lastAt} />
          </td>
        </tr>
      ))}
    </Table>
  </OperatorLayout>
)
