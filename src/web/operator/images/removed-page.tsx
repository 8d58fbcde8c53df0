import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import type { RemovedImageEntry } from '../../../core/images/takedown.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import { Notices, Pager } from '../../parts/page-parts.js'
import { address, Moment, number } from '../../parts/text.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { Actor, ImageLink, Table, UserLink } from '../parts/operator-parts.js'

interface RemovedPageProps {
  readonly signedIn: SignedIn
  readonly items: readonly RemovedImageEntry[]
  readonly next: string | undefined
  readonly isFirst: boolean
  /** Whether only those are shown of which something may still exist. */
  readonly unfinished: boolean
  readonly unfinishedCount: number
  readonly done?: string | undefined
}

const PATH = '/operator/images/removed'

/** The images that were removed, by their owners too. */
const RemovedPage = (props: RemovedPageProps) => {
  const { signedIn, items, next, isFirst, unfinished, unfinishedCount, done } = props
  const to = (after?: string) => address(PATH, { unfinished: unfinished ? 'yes' : '', after })
  return (
    <OperatorLayout
      title="Removed images"
      signedIn={signedIn}
      path={PATH}
      aside={<a href="/operator/images">All images</a>}
    >
      <Notices done={done} />
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
      <ImageLink slug={it.slug} />
    </td>
    <td>
      <UserLink username={it.owner} />
    </td>
    <td class="when">
      <Moment at={it.removedAt} />
    </td>
    <td class="what">
      {it.reason ? <bdi>{it.reason}</bdi> : <span class="quiet">No reason given</span>}
      {it.removedBy && (
        <div class="quiet small">
          by <Actor actor={it.removedBy} />
        </div>
      )}
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

const IMAGES_PER_PAGE = 50

const query = z.object({
  unfinished: z
    .string()
    .catch('')
    .transform((text) => text === 'yes'),
  after: z
    .string()
    .regex(/^\d{1,16}:[0-9A-Za-z]{22}$/)
    .optional()
    .catch(undefined),
  done: z.literal('removed').optional().catch(undefined),
})

/** The list of removed images. */
export function removedImagesRoutes(app: App, { ports }: WebsiteOptions): void {
  const { removedImages } = ports

  app.get(PATH, { schema: { querystring: query } }, async (request, reply) => {
    const { unfinished, after, done } = request.query
    const [list, unfinishedCount] = await Promise.all([
      removedImages.list({ unfinished }, { limit: IMAGES_PER_PAGE, after }),
      removedImages.countUnfinished(),
    ])
    const page = { signedIn: sessionOf(request), unfinished, unfinishedCount, isFirst: after === undefined, ...list }
    return sendPage(reply, <RemovedPage {...page} done={done && 'The image is removed.'} />)
  })
}
