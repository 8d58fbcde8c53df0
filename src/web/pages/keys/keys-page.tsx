import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import {
  createOwnKey,
  KEY_NAME_LENGTH,
  limitOwnKey,
  MAX_KEYS,
  type OwnKey,
  operatorKeyPrefix,
  renameOwnKey,
  revokeOwnKey,
} from '../../../core/accounts/api-key.js'
import type { SignedIn } from '../../../core/accounts/session.js'
import type { ModelVersion } from '../../../core/catalog/model-version.js'
import type { AdministeredKey } from '../../../core/operator/keys.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { SecretField } from '../../parts/account-fields.js'
import { Layout, sendFragment, sendPage } from '../../parts/layout.js'
import { Notices } from '../../parts/page-parts.js'
import { samplesOf } from '../../parts/samples.js'
import { PlanLink } from '../../parts/site-links.js'
import { Moment } from '../../parts/text.js'
import { isFragment, refusalMessage } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { requireOperator, sessionOf } from '../../shared/session-cookie.js'
import { useTexts } from '../../texts/texts.js'
import { inPlace, LimitFields, LimitForm, limitsForm, NO_LIMITS, withKeptEnd } from './key-limits.js'
import { KeyTable } from './key-table.js'
import {
  OperatorKeys,
  type OperatorKeysView,
  operatorKeyActs,
  operatorKeyForm,
  operatorKeysOf,
} from './operator-keys.js'

interface KeysView {
  readonly signedIn: SignedIn
  readonly keys: readonly OwnKey[]
  readonly keyPrefix: string
  readonly baseUrl: string
  /** On offer. */
  readonly models: readonly ModelVersion[]
  /** Of an operator. */
  readonly operatorKeys?: readonly AdministeredKey[] | undefined
  /** The key that was created just now: shown this once. */
  readonly created?: string | undefined
  /** What was done. */
  readonly done?: string | undefined
  /** Why it was not done, and the name that was typed. */
  readonly problem?: string | undefined
  readonly name?: string | undefined
  /** What was typed into the form for an operator key. */
  readonly asked?: OperatorKeysView['asked']
  /** The ID of the key whose limits are to be changed. */
  readonly limits?: string | undefined
}

/** The keys of the Personal Access API: create, rename, revoke. */
const KeysPage = (view: KeysView) => {
  const { keys: words } = useTexts()
  return (
    <Layout title={words.title} signedIn={view.signedIn} path="/keys" class="column" style="account.css" live>
      <div class="stack heading">
        <h1>{words.heading}</h1>
        <p class="lead">
          {words.lead(
            (text) => (
              <a href="/docs">{text}</a>
            ),
            (text) => (
              <a href="/webhooks">{text}</a>
            ),
          )}
        </p>
      </div>
      <Keys {...view} />
    </Layout>
  )
}

/** What changes when a key is created, renamed or revoked. */
const Keys = (view: KeysView) => {
  const { keys, signedIn, created, done, problem } = view
  const { keys: words } = useTexts()
  const active = signedIn.caller.account.subscription?.status === 'active'
  const limited = keys.find(({ id, kind }) => id === view.limits && kind === 'personal')
  return (
    <div id="keys" class="stack">
      {created && <NewKey value={created} {...view} />}
      <Notices done={done} problem={problem} takesFocus />
      {limited ? (
        <LimitForm of={limited} models={view.models} />
      ) : active ? (
        <CreateForm {...view} />
      ) : (
        <NoSubscription signedIn={signedIn} />
      )}
      <div class="card">
        <h2>{words.yours}</h2>
        {keys.length === 0 ? (
          <p class="empty">
            {words.none} {active && words.createFirst}
          </p>
        ) : (
          <KeyTable keys={keys} keyPrefix={view.keyPrefix} />
        )}
      </div>
      {view.operatorKeys && <OperatorKeys {...view} operatorKeys={view.operatorKeys} />}
    </div>
  )
}

const curlOf = (url: string) => samplesOf({ method: 'GET', url, body: undefined, contentType: 'application/json' }).curl

const NewKey = ({ value, baseUrl, keyPrefix }: { value: string; baseUrl: string; keyPrefix: string }) => {
  const { created: words } = useTexts().keys
  const isOperators = value.startsWith(`${operatorKeyPrefix(keyPrefix)}_`)
  const sample = curlOf(isOperators ? `${baseUrl}/admin/v1/queue` : `${baseUrl}/api/v1/account`)
  return (
    <section class="card new-secret" aria-labelledby="new-key">
      <h2 id="new-key">{words.title}</h2>
      <p>{words.once}</p>
      <SecretField id="key" label={words.label} value={value} />
      <p class="small quiet">{isOperators ? words.tryAsOperator : words.try}</p>
      <div class="code">
        <pre id="curl">{sample.replace('$EASEL_KEY', () => value)}</pre>
        <button class="small" type="button" data-copy="#curl">
          {words.copyRequest}
        </button>
      </div>
    </section>
  )
}

const CreateForm = ({ keys, models, name = '', problem }: KeysView) => {
  const { create: words, limits } = useTexts().keys
  const held = keys.filter(({ kind }) => kind === 'personal').length
  return (
    <form class="card" method="post" action="/keys" {...inPlace('/keys')}>
      <div class="field">
        <label for="name">{words.name}</label>
        <div class="beside">
          <input
            id="name"
            name="name"
            value={name}
            placeholder={words.example}
            autocomplete="off"
            aria-describedby="name-hint"
            autofocus={problem !== undefined && name !== ''}
            required
          />
          <button class="primary" type="submit">
            {words.submit}
          </button>
        </div>
        <p id="name-hint" class="small quiet">
          {words.hint(KEY_NAME_LENGTH, held, MAX_KEYS)}
        </p>
      </div>
      <details>
        <summary>{limits.title}</summary>
        <LimitFields id="new" models={models} limits={NO_LIMITS} />
      </details>
    </form>
  )
}

const NoSubscription = ({ signedIn }: { signedIn: SignedIn }) => {
  const { subscription } = signedIn.caller.account
  const { keys, parts } = useTexts()
  const { noSubscription: words } = keys
  return (
    <section class="card stack" aria-labelledby="no-subscription">
      <h2 id="no-subscription">{words.title}</h2>
      <p>
        {subscription
          ? words.plan(
              <bdi>{subscription.plan}</bdi>,
              (parts.statuses as Partial<Record<string, string>>)[subscription.status] ?? subscription.status,
              subscription.status === 'expired' && <Moment at={subscription.endDate} only="date" />,
            )
          : words.none}{' '}
        {words.later}
      </p>
      <p>
        <a href="/account">{words.account}</a> <PlanLink />
      </p>
    </section>
  )
}

const body = z.object({ name: z.string().catch('') })
const params = z.object({ id: z.string() })
const query = z.object({ limits: z.string().optional().catch(undefined) })

/** Your keys. Each act answers with the list as it is then: as a part of the page for htmx, else as the page. */
export function keyRoutes(app: App, options: WebsiteOptions): void {
  const { ports, keyPrefix, baseUrl } = options
  const { ownKeys } = ports
  type News = Pick<KeysView, 'created' | 'done' | 'problem' | 'name' | 'limits' | 'asked'>

  const show = async (request: FastifyRequest, reply: FastifyReply, news: News) => {
    const signedIn = sessionOf(request)
    const { id } = signedIn.caller.account
    const [keys, models, operatorKeys] = await Promise.all([
      ownKeys.list(id),
      ports.models.listEnabled(),
      signedIn.role === 'operator' ? operatorKeysOf(options, id) : undefined,
    ])
    const view = { ...news, signedIn, keyPrefix, baseUrl, keys, models, operatorKeys }
    return isFragment(request) ? sendFragment(reply, <Keys {...view} />) : sendPage(reply, <KeysPage {...view} />)
  }

  /** Does it and shows what came of it; a refusal beside what was typed. */
  const act = async (request: FastifyRequest, reply: FastifyReply, work: () => Promise<News>, typed: News = {}) => {
    const news = await work().catch((error: unknown): News => ({ problem: refusalMessage(error, reply), ...typed }))
    return show(request, reply, news)
  }

  app.get('/keys', { schema: { querystring: query } }, (request, reply) => show(request, reply, request.query))

  app.post('/keys', { schema: { body: body.and(limitsForm) } }, (request, reply) => {
    const { account } = request.caller
    const create = async () => ({ created: await createOwnKey(ownKeys, account, request.body, keyPrefix) })
    return act(request, reply, create, { name: request.body.name })
  })

  app.post('/keys/:id/limits', { schema: { params, body: limitsForm } }, (request, reply) => {
    const { account } = request.caller
    const { id } = request.params
    const change = async () => {
      const before = (await ownKeys.list(account.id)).find((key) => key.id === id)
      await limitOwnKey(ownKeys, account, id, withKeptEnd(request.body, before?.expiresAt))
      return { done: request.texts.keys.done.limits }
    }
    return act(request, reply, change, { limits: id })
  })

  app.post('/keys/:id/rename', { schema: { params, body } }, (request, reply) =>
    act(request, reply, async () => {
      await renameOwnKey(ownKeys, request.caller.account, request.params.id, request.body.name)
      return { done: request.texts.keys.done.renamed }
    }),
  )

  app.post('/keys/:id/revoke', { schema: { params } }, (request, reply) =>
    act(request, reply, async () => {
      await revokeOwnKey(ownKeys, request.caller.account, request.params.id)
      return revoked(request, request.params.id)
    }),
  )

  const { create, rename, revoke } = operatorKeyActs(options)
  const ofOperators = { onRequest: requireOperator }

  app.post('/keys/operator', ofOperators, (request, reply) =>
    act(request, reply, async () => ({ created: await create(request) }), {
      asked: operatorKeyForm.parse(request.body ?? {}),
    }),
  )

  app.post('/keys/operator/:id/rename', { ...ofOperators, schema: { params } }, (request, reply) =>
    act(request, reply, async () => {
      await rename(request, request.params.id)
      return { done: request.texts.keys.done.renamed }
    }),
  )

  app.post('/keys/operator/:id/revoke', { ...ofOperators, schema: { params } }, (request, reply) =>
    act(request, reply, async () => {
      await revoke(request, request.params.id)
      return revoked(request, request.params.id)
    }),
  )
}

function revoked({ log, texts }: FastifyRequest, keyId: string) {
  // Whoever restores an older database has to revoke it again.
  log.info({ keyId }, 'key revoked')
  return { done: texts.keys.done.revoked }
}
