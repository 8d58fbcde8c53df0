/** The keys with which an operator's own programs administer Easel: each act asks why, and is recorded. */
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { OPERATOR_SCOPES, type OperatorScope } from '../../../core/accounts/account.js'
import { keyNotFound, requireKeyName, requireLimits, shownKey } from '../../../core/accounts/api-key.js'
import { type AdministeredKey, changeKey, createKey, revokeKey } from '../../../core/operator/keys.js'
import { actingOf, mistake, ReasonField, readForm, reason } from '../../parts/operator-forms.js'
import { Field } from '../../parts/page-parts.js'
import { Moment } from '../../parts/text.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { endOn, inPlace, Limits, NO_LIMITS } from './key-limits.js'

export interface OperatorKeysView {
  readonly operatorKeys: readonly AdministeredKey[]
  readonly keyPrefix: string
  /** What was typed into the form, if it was refused. */
  readonly asked?: OperatorKeyForm | undefined
}

export const OperatorKeys = ({ operatorKeys, keyPrefix, asked }: OperatorKeysView) => (
  <section class="card stack" aria-labelledby="operator-keys">
    <h2 id="operator-keys">Operator keys</h2>
    <p class="quiet">
      With such a key a program administers Easel, through <a href="/operator/api">its API</a> alone. It works for as
      long as you are an operator; what it does stands in the <a href="/operator/log">log</a>.
    </p>
    {operatorKeys.length > 0 && (
      <ul class="sessions" aria-label="Your operator keys">
        {operatorKeys.map((key) => (
          <OperatorKeyItem key={key.id} of={key} prefix={keyPrefix} />
        ))}
      </ul>
    )}
    <details open={asked !== undefined}>
      <summary>New operator key</summary>
      <CreateOperatorKey {...asked} />
    </details>
  </section>
)

const SCOPES: Readonly<Record<OperatorScope, string>> = {
  read: 'read: sees everything and changes nothing',
  accounts: 'accounts: also changes accounts, credits, keys, plans and payments',
  models: 'models: also changes models and pauses',
  all: 'all: does everything, and makes operators',
}

const CreateOperatorKey = ({ name, scope = 'read', until, reason }: Partial<OperatorKeyForm>) => (
  <form
    class="stack opened"
    method="post"
    action="/keys/operator"
    aria-label="New operator key"
    {...inPlace('/keys/operator')}
  >
    <Field id="operator-name" name="name" label="Name" value={name} autocomplete="off" required />
    <div class="field">
      <label for="scope">What it may do</label>
      <select id="scope" name="scope">
        {OPERATOR_SCOPES.map((it) => (
          <option value={it} selected={it === scope}>
            {SCOPES[it]}
          </option>
        ))}
      </select>
    </div>
    <Field
      id="operator-until"
      name="until"
      label="Works until the end of"
      type="date"
      value={until}
      hint="A day in UTC. Empty: without an end."
    />
    <ReasonField id="why-create" label="Why" value={reason} />
    <div class="row">
      <button class="primary" type="submit">
        Create operator key
      </button>
    </div>
  </form>
)

const OperatorKeyItem = ({ of: key, prefix }: { of: AdministeredKey; prefix: string }) => {
  const { id, name, scope, createdAt, lastUsedAt } = key
  const path = `/keys/operator/${id}`
  return (
    <li class="row apart">
      <div>
        <b id={`name-${id}`}>
          <bdi>{name || 'Unnamed'}</bdi>
        </b>{' '}
        <span class="badge">{scope}</span> <code class="quiet">{shownKey(key, prefix)}</code>
        <Limits of={key} />
        <div class="small quiet">
          Created <Moment at={createdAt} only="date" />, {lastUsedAt ? 'last used ' : 'never used'}
          {lastUsedAt && <Moment at={lastUsedAt} />}
        </div>
      </div>
      <div class="row actions">
        <details>
          <summary aria-describedby={`name-${id}`}>Rename</summary>
          <form class="stack" method="post" action={`${path}/rename`} {...inPlace(`${path}/rename`)}>
            <Field id={`new-${id}`} name="name" label="New name" value={name} autocomplete="off" required />
            <ReasonField id={`why-rename-${id}`} label="Why" />
            <button class="small" type="submit">
              Save
            </button>
          </form>
        </details>
        <details>
          <summary aria-describedby={`name-${id}`}>Revoke</summary>
          <form class="stack" method="post" action={`${path}/revoke`} {...inPlace(`${path}/revoke`)}>
            <ReasonField id={`why-revoke-${id}`} label="Why" />
            <button class="small danger" type="submit">
              Revoke key
            </button>
          </form>
        </details>
      </div>
    </li>
  )
}

const text = z.string().catch('')
/** As it was typed. */
export const operatorKeyForm = z.object({ name: text, scope: text, until: text, reason: text })
type OperatorKeyForm = z.output<typeof operatorKeyForm>

const asked = z.object({
  name: text,
  scope: z.enum(OPERATOR_SCOPES, 'Choose what the key may do.'),
  until: text,
  reason,
})
const renamed = z.object({ name: text, reason })
const why = z.object({ reason })

/** @throws invalid_request */
function read<Fields>(fields: z.ZodType<Fields>, body: unknown): Fields {
  const { form, problem } = readForm(fields, body)
  if (problem !== undefined) throw mistake(problem)
  return form as Fields
}

/** Those that work, newest first. */
export async function operatorKeysOf({ ports }: WebsiteOptions, accountId: string): Promise<AdministeredKey[]> {
  const keys = await ports.administration.keys.list(accountId)
  return keys.filter(({ kind, revokedAt }) => kind === 'operator' && !revokedAt).reverse()
}

/** What the forms above do to the keys of who sent them. Each asks why. @throws invalid_request, not_found */
export const operatorKeyActs = (options: WebsiteOptions) => {
  const { ports, keyPrefix } = options
  const requireOwn = async ({ caller }: FastifyRequest, id: string) => {
    const own = await operatorKeysOf(options, caller.account.id)
    if (!own.some((key) => key.id === id)) throw keyNotFound()
  }
  return {
    /** Resolves to the key. */
    async create(request: FastifyRequest): Promise<string> {
      const { name, scope, until, reason } = read(asked, request.body)
      const { expiresAt } = requireLimits({ ...NO_LIMITS, expiresAt: endOn(until) })
      const wanted = { kind: 'operator', name: requireKeyName(name), scope, expiresAt } as const
      const { username } = request.caller.account
      return (await createKey(actingOf(ports, request, reason), username, wanted, keyPrefix)).key
    },
    async rename(request: FastifyRequest, id: string): Promise<void> {
      const { name, reason } = read(renamed, request.body)
      const change = { name: requireKeyName(name) }
      await requireOwn(request, id)
      await changeKey(actingOf(ports, request, reason), id, change)
    },
    async revoke(request: FastifyRequest, id: string): Promise<void> {
      const { reason } = read(why, request.body)
      await requireOwn(request, id)
      await revokeKey(actingOf(ports, request, reason), id)
    },
  }
}
