import type { Overview } from '../../../core/operator/overview.js'
import { number } from '../../parts/text.js'
import { GenerationLink, spanOf, Table } from '../parts/operator-parts.js'

/** Of the last 24 hours: how often for which reason, and the newest ones. */
export const FailuresTables = ({ overview: { failures, failed, at } }: { overview: Overview }) => (
  <>
    <Table
      name="Why generations failed in the last 24 hours"
      columns={[['Reason'], ['Generations', 'number']]}
      empty="Nothing has failed."
    >
      {failures.map(({ reason, count }) => (
        <tr>
          <td>
            <bdi>{reason}</bdi>
          </td>
          <td class="number">{number(count)}</td>
        </tr>
      ))}
    </Table>
    {failed.length > 0 && (
      <Table
        name="The newest failures"
        columns={[['Generation'], ['Account'], ['Model'], ['Reason'], ['When', 'number']]}
        empty=""
      >
        {failed.map(({ id, username, filename, reason, finishedAt }) => (
          <tr>
            <td>
              <GenerationLink id={id} />
            </td>
            <td>
              <bdi>{username}</bdi>
            </td>
            <td>
              <bdi class="mono">{filename}</bdi>
            </td>
            <td>
              <bdi>{reason}</bdi>
            </td>
            <td class="number nowrap">{spanOf(finishedAt, at)} ago</td>
          </tr>
        ))}
      </Table>
    )}
  </>
)
