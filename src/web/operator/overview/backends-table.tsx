import type { BackendState, Overview } from '../../../core/operator/overview.js'
import { Moment } from '../../parts/text.js'
import { isPaused, PauseLink, spanOf, Table } from '../parts/operator-parts.js'

export const BackendsTable = ({ overview }: { overview: Overview }) => (
  <Table
    name="Backends"
    columns={[
      ['Backend'],
      ['State'],
      ['Loaded model'],
      ['Models', 'number'],
      ['Heartbeat'],
      ['Last error'],
      ['Pause', 'act'],
    ]}
    empty="No worker has reported a backend: start one."
  >
    {overview.backends.map((backend) => (
      <tr>
        <td>
          <bdi class="mono">{backend.name}</bdi>
          <div class="quiet small">
            <bdi>{backend.worker}</bdi>
          </div>
        </td>
        <td>
          <span class={`badge ${backend.up ? 'good' : 'bad'}`}>{backend.up ? 'up' : 'down'}</span>
        </td>
        <td>{backend.loaded === null ? <span class="quiet">–</span> : <bdi class="mono">{backend.loaded}</bdi>}</td>
        <td class="number">{backend.models?.length ?? 'any'}</td>
        <td class="nowrap">{spanOf(backend.seenAt, overview.at)} ago</td>
        <td>
          <LastError backend={backend} />
        </td>
        <td class="number">
          {isPaused(overview, 'backend', backend.name) || isPaused(overview, 'all', '') ? (
            <span class="badge bad">paused</span>
          ) : (
            <PauseLink scope="backend" target={backend.name} />
          )}
        </td>
      </tr>
    ))}
  </Table>
)

const LastError = ({ backend: { error, errorAt } }: { backend: BackendState }) =>
  error === null ? (
    <span class="quiet">–</span>
  ) : (
    <>
      <bdi class="small">{error}</bdi>
      {errorAt && (
        <div class="quiet small">
          <Moment at={errorAt} />
        </div>
      )}
    </>
  )
