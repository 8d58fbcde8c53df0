import { z } from 'zod'
import { deleteOwnAccount } from '../../../core/accounts/own-deletion.js'
import { PASSWORD_LENGTH } from '../../../core/accounts/password.js'
import type { SignedIn } from '../../../core/accounts/session.js'
import { AppError } from '../../../core/errors.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { PasswordField } from '../../parts/account-fields.js'
import { Layout, sendPage } from '../../parts/layout.js'
import { Field, Notices } from '../../parts/page-parts.js'
import { refusalMessage } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { type SessionCookie, sessionOf } from '../../shared/session-cookie.js'
import { useTexts } from '../../texts/texts.js'

interface DeletePageProps {
  readonly signedIn: SignedIn
  readonly hasPassword: boolean
  /** Whether plans are sold here. */
  readonly sells: boolean
  readonly typed?: string
  /** Why nothing was deleted. */
  readonly problem?: string
}

/** Says what goes and what stays, before one deletes one's account. */
const DeletePage = ({ signedIn, hasPassword, sells, typed, problem }: DeletePageProps) => {
  const { username, credits } = signedIn.caller.account
  const { account } = useTexts()
  const { deletion: words } = account
  return (
    <Layout title={account.remove} signedIn={signedIn} path="/account" class="narrow">
      <form class="card stack" method="post" action="/account/delete">
        <h1>{account.remove}</h1>
        <Notices problem={problem} />
        <p>{words.intro(<bdi>{username}</bdi>)}</p>
        <ul>
          {words.gone.map((what) => (
            <li>{what}</li>
          ))}
          {credits > 0 && <li>{words.credits(credits)}</li>}
          {sells && <li>{words.subscription}</li>}
        </ul>
        <p>{words.stays}</p>
        <a href="/account#export-title">{words.exportFirst}</a>
        <Field
          id="username"
          label={words.name}
          value={typed}
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          maxlength={64}
          required
        />
        {hasPassword && <PasswordField label={words.password} />}
        <button class="danger" type="submit">
          {words.confirm}
        </button>
        <a href="/account">{words.keep}</a>
      </form>
    </Layout>
  )
}

const DeletedPage = () => {
  const { account, parts } = useTexts()
  return (
    <Layout title={account.deletion.done} signedIn={null} path="/account" class="narrow">
      <section class="card stack">
        <h1>{account.deletion.done}</h1>
        <p>{account.deletion.after}</p>
        <a class="button" href="/">
          {parts.errors.home}
        </a>
      </section>
    </Layout>
  )
}

const body = z.object({
  username: z.string().trim().max(254).catch(''),
  password: z
    .string()
    .max(10 * PASSWORD_LENGTH.max)
    .catch(''),
})

/** Deletes the account of who is signed in. @param countTry of a password, as on the account's page */
export function deleteAccountRoutes(
  app: App,
  { ports, shop }: Pick<WebsiteOptions, 'ports' | 'shop'>,
  cookies: SessionCookie,
  countTry: (accountId: string) => Promise<void>,
): void {
  const propsOf = async (signedIn: SignedIn) => {
    const own = await ports.credentials.find(signedIn.caller.account.username)
    return { signedIn, hasPassword: Boolean(own?.passwordHash), sells: shop !== undefined }
  }

  app.get('/account/delete', async (request, reply) =>
    sendPage(reply, <DeletePage {...(await propsOf(sessionOf(request)))} />),
  )

  app.post('/account/delete', { schema: { body } }, async (request, reply) => {
    const signedIn = sessionOf(request)
    try {
      await countTry(signedIn.caller.account.id)
      await deleteOwnAccount({ ...ports, stores: ports.administration }, signedIn, request.body)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const problem = refusalMessage(error, reply)
      const props = await propsOf(signedIn)
      return sendPage(reply, <DeletePage {...props} typed={request.body.username} problem={problem} />)
    }
    await cookies.signOut(request, reply)
    return reply.redirect('/account/deleted', 303)
  })
}

/** For who has no account any more. */
export function deletedAccountRoutes(app: App): void {
  app.get('/account/deleted', async (_request, reply) => sendPage(reply, <DeletedPage />))
}
