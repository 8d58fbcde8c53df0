import { MAX_REASON_LENGTH } from '../../../core/operator/operator-actions.js'
import { type Overview, type RunningWork, totalsOf } from '../../../core/operator/overview.js'
import type { Pause } from '../../../core/operator/pauses.js'
import { counted, Moment, number } from '../../parts/text.js'
import {
  BackendLink,
  GenerationLink,
  isPaused,
  LANE_NAMES,
  PauseLink,
  spanOf,
  Table,
  UserLink,
} from '../parts/operator-parts.js'
import { BackendsTables } from './backends-tables.js'

/** What the page shows anew every two seconds. */
export const OverviewParts = ({ overview }: { overview: Overview }) => (
  <>
    <Tiles overview={overview} />
    {overview.reportedImages > 0 && (
      <p class="hint">
        Visitors have reported <a href="/operator/reports">{counted(overview.reportedImages, 'image')}</a>: look at
        them.
      </p>
    )}
    {overview.pauses.length > 0 && <Pauses pauses={overview.pauses} />}
    <QueueTable overview={overview} />
    <RunningTable overview={overview} />
    <BackendsTables overview={overview} />
    <FailuresTables overview={overview} />
  </>
)

const Tiles = ({ overview }: { overview: Overview }) => {
  const { waiting, oldestAt } = totalsOf(overview)
  const tiles = [
    [number(waiting), 'waiting'],
    [number(overview.runningCount), 'running'],
    [oldestAt ? spanOf(oldestAt, overview.at) : '–', 'oldest wait'],
    [number(overview.imagesLastHour), 'images in the last hour'],
    [number(overview.failedLastHour), 'failed in the last hour'],
  ]
  return (
    <div class="tiles">
      {tiles.map(([value, name]) => (
        <p class="card tile">
          <b>{value}</b>
          <span class="quiet">{name}</span>
        </p>
      ))}
    </div>
  )
}

const Pauses = ({ pauses }: { pauses: readonly Pause[] }) => (
  <section class="card stack paused" aria-labelledby="paused">
    <h2 id="paused">Paused</h2>
    <ul class="plain-list">
      {pauses.map(({ scope, target, reason, pausedAt }) => {
        const what = scope === 'all' ? 'all' : `${scope} ${target}`
        const id = `why-${encodeURIComponent(what)}`
        return (
          <li id={`paused-${encodeURIComponent(what)}`} class="row apart">
            <div>
              <b>{scope === 'all' ? 'Everything' : <bdi class="mono">{target}</bdi>}</b>
              <p class="quiet small">
                <bdi>{reason}</bdi> · since <Moment at={pausedAt} />
              </p>
            </div>
            <form class="row" method="post" action="/operator/resume">
              <input type="hidden" name="what" value={what} />
              <label class="hidden-visually" for={id}>
                Why resume {scope === 'all' ? 'everything' : target}
              </label>
              <input
                id={id}
                name="reason"
                maxlength={MAX_REASON_LENGTH}
                placeholder="Why? (optional)"
                autocomplete="off"
              />
              <button class="primary small" type="submit">
                Resume
              </button>
            </form>
          </li>
        )
      })}
    </ul>
  </section>
)

const QueueTable = ({ overview }: { overview: Overview }) => (
  <Table
    name="Queue"
    columns={[
      ['Lane'],
      ['Model'],
      ['Waiting', 'number'],
      ['Oldest wait', 'number'],
      ['Places', 'number'],
      ['Pause', 'act'],
    ]}
    empty="Nothing is waiting."
  >
    {overview.queue.map(({ lane, filename, count, oldestAt, firstPlace, lastPlace }) => (
      <tr>
        <td>{LANE_NAMES[lane]}</td>
        <td>
          <bdi class="mono">{filename}</bdi>
        </td>
        <td class="number">{number(count)}</td>
        <td class="number">{spanOf(oldestAt, overview.at)}</td>
        <td class="number">
          {number(firstPlace)}
          {lastPlace > firstPlace && ` to ${number(lastPlace)}`}
        </td>
        <td class="number">
          {isPaused(overview, 'model', filename) || isPaused(overview, 'all', '') ? (
            <span class="badge bad">paused</span>
          ) : (
            <PauseLink scope="model" target={filename} />
          )}
        </td>
      </tr>
    ))}
  </Table>
)

const RunningTable = ({ overview }: { overview: Overview }) => (
  <Table
    name="Running"
    columns={[['Generation'], ['Account'], ['Model'], ['Backend'], ['For', 'number']]}
    empty="Nothing is running."
  >
    {overview.running.map(({ id, username, filename, worker, backend, startedAt }) => (
      <tr>
        <WorkCells id={id} username={username} filename={filename} />
        <td>
          <BackendLink backend={backend} worker={worker} />
        </td>
        <td class="number">{spanOf(startedAt, overview.at)}</td>
      </tr>
    ))}
  </Table>
)

/** Of the last 24 hours: how often for which reason, and the newest ones. */
const FailuresTables = ({ overview: { failures, failed, at } }: { overview: Overview }) => (
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
            <WorkCells id={id} username={username} filename={filename} />
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

/** The first cells of a generation's row: its link, its account and its model. */
const WorkCells = ({ id, username, filename }: Pick<RunningWork, 'id' | 'username' | 'filename'>) => (
  <>
    <td>
      <GenerationLink id={id} />
    </td>
    <td>
      <UserLink username={username} />
    </td>
    <td>
      <bdi class="mono">{filename}</bdi>
    </td>
  </>
)
