/** What several of the console's pages are made of. */
import type { ComponentChildren } from 'preact'
import type { Lane } from '../../../core/generations/generation.js'
import type { Overview } from '../../../core/operator/overview.js'
import type { Pausable } from '../../../core/operator/pauses.js'

export const LANE_NAMES: Readonly<Record<Lane, string>> = { personal: 'Personal API', create_image: 'Create Image' }

export const isPaused = ({ pauses }: Overview, scope: Pausable['scope'], target: string): boolean =>
  pauses.some((it) => it.scope === scope && it.target === target)

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const

/** In its two largest units: `2 h 5 min`. */
export function spanOf(from: Date, to: Date): string {
  let seconds = Math.max(0, Math.round((to.getTime() - from.getTime()) / 1000))
  const first = UNITS.findIndex(([, size]) => seconds >= size)
  if (first === -1) return '0 s'
  const parts = UNITS.slice(first, first + 2).map(([unit, size]) => {
    const count = Math.floor(seconds / size)
    seconds -= count * size
    return count > 0 && `${count} ${unit}`
  })
  return parts.filter(Boolean).join(' ')
}

interface TableProps {
  readonly name: string
  /** Where links lead to it. */
  readonly id?: string
  /** `act` is the class of a column of buttons, whose name nobody needs to see. */
  readonly columns: readonly (readonly [name: string, className?: string])[]
  /** Said where there are no rows. */
  readonly empty?: string
  /** Table rows. */
  readonly children: readonly ComponentChildren[]
}

/** A table that a keyboard can scroll where it is wider than the page. */
export const Table = ({ name, id, columns, empty, children }: TableProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
  <section id={id} class="card scroll" tabIndex={0} aria-label={`${name}, scrolls`}>
    <table>
      <caption>{name}</caption>
      <thead>
        <tr>
          {columns.map(([column, className]) => (
            <th scope="col" class={className}>
              {className === 'act' ? <span class="hidden-visually">{column}</span> : column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {children.length > 0 ? (
          children
        ) : (
          <tr>
            <td class="quiet" colspan={columns.length}>
              {empty}
            </td>
          </tr>
        )}
      </tbody>
    </table>
  </section>
)

/** A backend and its worker, which lead to the list of them. */
export const BackendLink = ({ backend, worker }: { backend: string | null; worker: string | null }) => (
  <>
    <a href="/operator#backends">
      <bdi class="mono">{backend}</bdi>
    </a>
    <div class="quiet small">
      <bdi>{worker}</bdi>
    </div>
  </>
)

/** Leads to the page of the generation that the image is of, and of its removal. */
export const ImageLink = ({ slug }: { slug: string }) => (
  <a href={`/operator/images/${slug}`}>
    <code>{slug}</code>
  </a>
)

/** Leads to the form above with this chosen. */
export const PauseLink = ({ scope, target }: Pausable) => (
  <a
    class="button small"
    href={`/operator?what=${encodeURIComponent(`${scope} ${target}`)}#pause`}
    aria-label={`Pause… ${target}`}
  >
    Pause…
  </a>
)

/** Shows the end of the ID, which is enough to tell them apart. */
export const GenerationLink = ({ id }: { id: string }) => (
  <a class="mono nowrap" href={`/operator/generations/${id}`} title={id}>
    <span class="hidden-visually">Generation </span>…{id.slice(-8)}
  </a>
)

export const userPath = (username: string) => `/operator/users/${encodeURIComponent(username)}`

export const UserLink = ({ username }: { username: string }) => (
  <a class="user" href={userPath(username)}>
    {username}
  </a>
)

/** Who did it: an operator on the website or, with the name of a key, through /admin/v1; else no account. */
export const Actor = ({ actor }: { actor: string }) => {
  const [, username, rest = ''] = /^([A-Za-z0-9._@+-]{1,64})( \(key .*\))?$/s.exec(actor) ?? []
  if (username === undefined) return <bdi>{actor}</bdi>
  return (
    <>
      <UserLink username={username} />
      {rest && <bdi class="quiet small">{rest}</bdi>}
    </>
  )
}
