import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import type { ListedAccount } from '../../../core/operator/accounts.js'
import type { ListedPlan } from '../../../core/operator/plans.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { MAX_EMAIL_LENGTH } from '../../../lib/email-address.js'
import { sendPage } from '../../parts/layout.js'
import { actingOf, readForm } from '../../parts/operator-forms.js'
import { Field, Notices, Pager, StatusBadge } from '../../parts/page-parts.js'
import { address, Moment, number } from '../../parts/text.js'
import { refusalMessage } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { GenerationLink, Table, userPath } from '../parts/operator-parts.js'
import { createUser, NewUserForm, type NewUserValues, newUserFields, typedOf } from './new-user.js'

interface UsersPageProps {
  readonly signedIn: SignedIn
  readonly text: string
  readonly deleted: boolean
  readonly isFirst: boolean
  readonly items: readonly ListedAccount[]
  readonly next: string | undefined
  readonly plans: readonly ListedPlan[]
  /** What was typed to create an account, after a mistake, and what was wrong with it. */
  readonly values?: NewUserValues
  readonly problem?: string
}

const PATH = '/operator/users'

/** Every account, by name, to be searched. */
const UsersPage = ({ signedIn, text, deleted, isFirst, items, next, plans, values, problem }: UsersPageProps) => {
  const to = (after?: string) => address(PATH, { q: text, deleted: deleted ? 'yes' : '', after })
  return (
    <OperatorLayout title="Users" signedIn={signedIn} path={PATH}>
      <Notices problem={problem} />
      <search>
        <form class="row search" method="get" action={PATH}>
          <Field
            id="q"
            label="Name, email, ID or the end of a key"
            type="search"
            value={text}
            maxlength={MAX_EMAIL_LENGTH}
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
          />
          <div class="field">
            <label for="deleted">Accounts</label>
            <select id="deleted" name="deleted">
              <option value="">In use</option>
              <option value="yes" selected={deleted}>
                Deleted
              </option>
            </select>
          </div>
          <button type="submit">Search</button>
        </form>
      </search>
      <NewUserForm path={PATH} plans={plans} values={values} />
      {items.length === 0 ? (
        <section class="card empty">
          <p>{text ? 'Nobody was found.' : deleted ? 'No account was deleted.' : 'There are no users yet.'}</p>
        </section>
      ) : (
        <Table
          name={deleted ? 'Deleted accounts' : 'Accounts'}
          columns={[
            ['User'],
            ['Plan'],
            ['Credits', 'number'],
            ['Active generation'],
            [deleted ? 'Deleted' : 'Last seen'],
          ]}
        >
          {items.map((account) => (
            <Row account={account} />
          ))}
        </Table>
      )}
      <Pager first={isFirst ? undefined : to()} next={next && to(next)} />
    </OperatorLayout>
  )
}

const Row = ({ account: it }: { account: ListedAccount }) => (
  <tr>
    <td>
      <div class="row">
        <a class="user" href={address(`${PATH}/${encodeURIComponent(it.username)}`, { id: it.deletedAt ? it.id : '' })}>
          {it.username}
        </a>
        {it.role === 'operator' && <span class="badge">operator</span>}
      </div>
      {it.email && (
        <div class="quiet small">
          <bdi>{it.email}</bdi>
        </div>
      )}
    </td>
    <td>
      {it.plan === null || it.status === null ? (
        <span class="quiet">None</span>
      ) : (
        <div class="row">
          <bdi>{it.plan}</bdi>
          {it.status !== 'active' && <StatusBadge status={it.status} />}
        </div>
      )}
    </td>
    <td class="number">{number(it.credits)}</td>
    <td>{it.activeGenerationId ? <GenerationLink id={it.activeGenerationId} /> : <span class="quiet">–</span>}</td>
    <td class="when">
      {it.deletedAt ? (
        <Moment at={it.deletedAt} />
      ) : it.lastSeenAt ? (
        <Moment at={it.lastSeenAt} />
      ) : (
        <span class="quiet">Never</span>
      )}
    </td>
  </tr>
)

const USERS_PER_PAGE = 50

const query = z.object({
  q: z
    .string()
    .catch('')
    .transform((text) => text.trim().slice(0, 254)),
  deleted: z
    .string()
    .catch('')
    .transform((text) => text === 'yes'),
  after: z
    .string()
    .regex(/^[a-z0-9._@+-]{1,64}:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    .optional()
    .catch(undefined),
})

interface Shown extends Partial<z.output<typeof query>> {
  readonly values?: NewUserValues
  readonly problem?: string
}

/** The list of users, and creating one. */
export function usersRoutes(app: App, { ports }: WebsiteOptions): void {
  const { administration, plans } = ports

  async function show(request: FastifyRequest, reply: FastifyReply, { q = '', after, ...shown }: Shown) {
    // A zero character is in no name, and Postgres takes none.
    const text = q.replaceAll('\0', '')
    const { deleted = false } = shown
    const [found, listed] = await Promise.all([
      administration.accounts.search({ text, deleted }, { limit: USERS_PER_PAGE, after }),
      plans.list(),
    ])
    const page = { text, isFirst: after === undefined, signedIn: sessionOf(request), ...found }
    const onOffer = listed.filter(({ retiredAt }) => retiredAt === null)
    return sendPage(reply, <UsersPage {...page} {...shown} deleted={deleted} plans={onOffer} />)
  }

  app.get(PATH, { schema: { querystring: query } }, async (request, reply) => show(request, reply, request.query))

  app.post(PATH, async (request, reply) => {
    const { form, problem } = readForm(newUserFields, request.body)
    const refuse = (sentence: string) => show(request, reply, { problem: sentence, values: typedOf(request.body) })
    if (!form) {
      reply.code(400)
      return refuse(problem ?? '')
    }
    try {
      const username = await createUser(actingOf(ports, request, form.reason), form)
      return reply.redirect(`${userPath(username)}?done=created`, 303)
    } catch (error) {
      return refuse(refusalMessage(error, reply))
    }
  })
}
