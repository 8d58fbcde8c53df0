import { ALIVE_MS } from '../../../core/generations/servable.js'
import type { BackendState, Overview } from '../../../core/operator/overview.js'
import { isPaused, PauseLink, spanOf, Table } from '../parts/operator-parts.js'

/** The backends of the workers that report, and apart from them those of workers that no longer do. */
export const BackendsTables = ({ overview }: { overview: Overview }) => {
  const isSilent = ({ seenAt }: BackendState) => overview.at.getTime() - seenAt.getTime() > ALIVE_MS
  const silent = overview.backends.filter(isSilent)
  return (
    <>
      <Table
        name="Backends"
        id="backends"
        columns={[
          ['Backend'],
          ['State'],
          ['Loaded model'],
          ['Models', 'number'],
          ['Heartbeat'],
          ['Error'],
          ['Pause', 'act'],
        ]}
        empty={`No worker ${silent.length > 0 ? 'reports a backend now' : 'has reported a backend'}: start one.`}
      >
        {overview.backends
          .filter((it) => !isSilent(it))
          .map((backend) => (
            <tr>
              <NameCell backend={backend} />
              <td>
                <span class={`badge ${backend.up ? 'good' : 'bad'}`}>{backend.up ? 'up' : 'down'}</span>
              </td>
              <td>
                {backend.loaded === null ? <span class="quiet">–</span> : <bdi class="mono">{backend.loaded}</bdi>}
              </td>
              <td class="number">{backend.models?.length ?? 'any'}</td>
              <td class="nowrap">{spanOf(backend.seenAt, overview.at)} ago</td>
              <td>
                <BackendError backend={backend} at={overview.at} />
              </td>
              <PauseCell overview={overview} backend={backend} />
            </tr>
          ))}
      </Table>
      {silent.length > 0 && (
        <Table name="Workers that are silent" columns={[['Backend'], ['Last heard of', 'number'], ['Pause', 'act']]}>
          {silent.map((backend) => (
            <tr>
              <NameCell backend={backend} />
              <td class="number nowrap">{spanOf(backend.seenAt, overview.at)} ago</td>
              <PauseCell overview={overview} backend={backend} />
            </tr>
          ))}
        </Table>
      )}
    </>
  )
}

const NameCell = ({ backend: { name, worker } }: { backend: BackendState }) => (
  <td>
    <bdi class="mono">{name}</bdi>
    <div class="quiet small">
      <bdi>{worker}</bdi>
    </div>
  </td>
)

const PauseCell = ({ overview, backend: { name } }: { overview: Overview; backend: BackendState }) => (
  <td class="number">
    {isPaused(overview, 'backend', name) || isPaused(overview, 'all', '') ? (
      <span class="badge bad">paused</span>
    ) : (
      <PauseLink scope="backend" target={name} />
    )}
  </td>
)

/** Why it is down, and for how long; of one that is up again, what is over. */
const BackendError = ({ backend: { up, error, errorAt }, at }: { backend: BackendState; at: Date }) => {
  if (error === null) return <span class="quiet">–</span>
  const span = errorAt && spanOf(errorAt, at)
  return up ? (
    <span class="quiet small">
      over{span && `, from ${span} ago`}: <bdi>{error}</bdi>
    </span>
  ) : (
    <>
      <bdi class="small">{error}</bdi>
      {span && <div class="quiet small">for {span}</div>}
    </>
  )
}
