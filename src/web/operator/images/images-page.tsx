import type { SignedIn } from '../../../core/accounts/session.js'
import type { RemovedImageEntry } from '../../../core/operator/removed-images.js'
import { Pager } from '../../parts/lists.js'
import { Notices } from '../../parts/notices.js'
import { address, Moment, number } from '../../parts/text.js'
import { OperatorLayout, ReasonField } from '../parts/operator-layout.js'
import { Table } from '../parts/operator-parts.js'

interface ImagesPageProps {
  readonly signedIn: SignedIn
  readonly items: readonly RemovedImageEntry[]
  readonly next: string | undefined
  readonly isFirst: boolean
  /** Whether only those are shown of which something may still exist. */
  readonly unfinished: boolean
  readonly unfinishedCount: number
  /** What was typed, after a mistake. */
  readonly image?: string
  readonly done?: string | undefined
  readonly problem?: string | undefined
}

const PATH = '/operator/images'

/** Removed images, and the way to remove one. */
export const ImagesPage = (props: ImagesPageProps) => {
  const { signedIn, items, next, isFirst, unfinished, unfinishedCount } = props
  const to = (after?: string) => address(PATH, { unfinished: unfinished ? 'yes' : '', after })
  return (
    <OperatorLayout title="Images" signedIn={signedIn} path={PATH}>
      <Notices done={props.done} problem={props.problem} />
      <form class="card stack" method="post" action={PATH} aria-labelledby="remove">
        <h2 id="remove">Remove an image</h2>
        <div class="pair wide">
          <div class="field">
            <label for="image">Image</label>
            <input
              id="image"
              name="image"
              value={props.image}
              maxlength={500}
              placeholder="Its address, or the last part of it"
              required
              autocomplete="off"
              autocapitalize="none"
              spellcheck={false}
            />
          </div>
          <ReasonField id="reason" />
        </div>
        <div class="row apart">
          <p class="quiet small">
            Its file goes, the CDN is told, and its page says that it was removed. This cannot be undone.
          </p>
          <button class="danger" type="submit">
            Remove image
          </button>
        </div>
      </form>
      <Table
        name={unfinished ? 'Removals that are not finished' : 'Removed images'}
        columns={[['Image'], ['Owner'], ['Removed'], ['Why'], ['File and CDN copy']]}
        empty={unfinished ? 'All removals are finished.' : 'No image was removed yet.'}
      >
        {items.map((image) => (
          <Row image={image} />
        ))}
      </Table>
      {unfinished ? (
        <a href={PATH}>Show all removed images</a>
      ) : (
        unfinishedCount > 0 && <a href={address(PATH, { unfinished: 'yes' })}>{number(unfinishedCount)} not finished</a>
      )}
      <Pager first={isFirst ? undefined : to()} next={next && to(next)} />
    </OperatorLayout>
  )
}

const Row = ({ image: it }: { image: RemovedImageEntry }) => (
  <tr>
    <td>
      <a href={`/image/${it.slug}`}>
        <code>{it.slug}</code>
      </a>
    </td>
    <td>
      <a class="user" href={`/operator/users/${encodeURIComponent(it.owner)}`}>
        {it.owner}
      </a>
    </td>
    <td class="when">
      <Moment at={it.removedAt} />
    </td>
    <td class="what">
      {it.reason ? <bdi>{it.reason}</bdi> : <span class="quiet">No reason given</span>}
      {it.removedBy && <div class="quiet small">by {it.removedBy}</div>}
    </td>
    <td class="small">
      {it.dueAt === null ? (
        <span class="badge good">gone</span>
      ) : (
        <>
          <span class={`badge ${it.attempts ? 'bad' : ''}`}>{it.attempts ? 'tried again' : 'waiting'}</span>{' '}
          <span class="quiet">
            {it.attempts ? `${it.attempts} so far, next ` : 'due '}
            <Moment at={it.dueAt} />
          </span>
        </>
      )}
    </td>
  </tr>
)
