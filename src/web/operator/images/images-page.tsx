import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import type { RemovedImageEntry } from '../../../core/images/takedown.js'
import { takeDown } from '../../../core/operator/images.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import { actingOf, ReasonField, readForm, reason } from '../../parts/operator-forms.js'
import { Field, Notices, Pager } from '../../parts/page-parts.js'
import { address, Moment, number } from '../../parts/text.js'
import { refusalMessage } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { Table, UserLink } from '../parts/operator-parts.js'

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
const ImagesPage = (props: ImagesPageProps) => {
  const { signedIn, items, next, isFirst, unfinished, unfinishedCount } = props
  const to = (after?: string) => address(PATH, { unfinished: unfinished ? 'yes' : '', after })
  return (
    <OperatorLayout title="Images" signedIn={signedIn} path={PATH}>
      <Notices done={props.done} problem={props.problem} />
      <form class="card stack" method="post" action={PATH} aria-labelledby="remove">
        <h2 id="remove">Remove an image</h2>
        <div class="pair wide">
          <Field
            id="image"
            label="Image"
            value={props.image}
            maxlength={500}
            placeholder="Its address, or the last part of it"
            required
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
          />
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
      <UserLink username={it.owner} />
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
type Chosen = z.infer<typeof query>

const fields = z.object({ image: z.string().catch(''), reason })

/** The slug in an image's address, of its page or of its file. */
const slugOf = (text: string) => /(?:^|\/)([0-9A-Za-z]{22})(?:\.[a-z]+)?\/?(?:[?#].*)?$/.exec(text.trim())?.[1] ?? ''

const NO_SUCH = 'There is no such image: give its address, or the last part of it.'

/** Removed images. */
export function imagesRoutes(app: App, { ports }: WebsiteOptions): void {
  const { removedImages } = ports

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    { unfinished, after, done }: Partial<Chosen> = {},
    said: { readonly problem?: string; readonly image?: string } = {},
  ): Promise<unknown> {
    const filter = { unfinished: unfinished === true }
    const [list, unfinishedCount] = await Promise.all([
      removedImages.list(filter, { limit: IMAGES_PER_PAGE, after }),
      removedImages.countUnfinished(),
    ])
    const page = { signedIn: sessionOf(request), ...filter, unfinishedCount, isFirst: after === undefined, ...list }
    return sendPage(reply, <ImagesPage {...page} {...said} done={done && 'The image is removed.'} />)
  }

  app.get('/operator/images', { schema: { querystring: query } }, async (request, reply) =>
    show(request, reply, request.query),
  )

  app.post('/operator/images', async (request, reply) => {
    const { form, problem } = readForm(fields, request.body)
    const { image } = fields.pick({ image: true }).parse(request.body ?? {})
    const refuse = (status: number, sentence: string) =>
      show(request, reply.code(status), {}, { problem: sentence, image })
    if (!form) return refuse(400, problem ?? NO_SUCH)
    try {
      await takeDown(actingOf(ports, request, form.reason), slugOf(image))
    } catch (error) {
      // Rethrows what is no refusal.
      refusalMessage(error, reply)
      return refuse(404, NO_SUCH)
    }
    return reply.redirect('/operator/images?done=removed', 303)
  })
}
