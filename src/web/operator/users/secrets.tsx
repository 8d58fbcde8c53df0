/** What an operator makes for an account and is shown once: a key, a sign-in link. */
import { z } from 'zod'
import { KEY_NAME_LENGTH } from '../../../core/accounts/api-key.js'
import { LINK_DAYS, LINK_MINUTES } from '../../../core/accounts/session.js'
import { lengthOf, makeSignInLink } from '../../../core/operator/accounts.js'
import type { Acting } from '../../../core/operator/acting.js'
import type { Administration } from '../../../core/operator/administration.js'
import { createKey } from '../../../core/operator/keys.js'
import { endOfDay } from '../../../lib/moments.js'
import { SecretField } from '../../parts/account-fields.js'
import { Act, line, mistake } from '../../parts/operator-forms.js'
import { Field } from '../../parts/page-parts.js'

/** Shown on the page that answers the form, and nowhere else: neither stored nor part of an address. */
export interface Secret {
  readonly title: string
  readonly label: string
  readonly value: string
  /** What it does, and until when. */
  readonly hint: string
}

export const SecretCard = ({ secret: { title, label, value, hint } }: { secret: Secret }) => (
  <section class="card stack secret" aria-labelledby="new-secret">
    <h2 id="new-secret">{title}</h2>
    <p>{hint}</p>
    <SecretField id="secret" label={label} value={value} />
  </section>
)

const text = z.string().catch('')
/** What a form keeps after a mistake. */
const typed = z.object({ name: text, kind: text, until: text, lasts: text, unit: text, reason: text })
export type TypedSecret = z.output<typeof typed>
export const typedOf = (body: unknown): TypedSecret => typed.parse(body ?? {})

interface FormProps {
  readonly path: string
  /** Undefined: nothing was typed yet. */
  readonly typed: TypedSecret | undefined
}

const KINDS = {
  personal: 'Personal: generates for its credits',
  developer: 'Developer: Create Image, metered',
} as const

export const NewKeyForm = ({ path, typed }: FormProps) => (
  <Act id="why-key" action={`${path}/keys`} name="Create a key" button="Create key" isHarmless why={typed?.reason}>
    <Field
      id="key-name"
      label="Name"
      name="name"
      value={typed?.name}
      maxlength={KEY_NAME_LENGTH}
      required
      autocomplete="off"
    />
    <div class="field">
      <label for="key-kind">Kind</label>
      <select id="key-kind" name="kind">
        {Object.entries(KINDS).map(([kind, words]) => (
          <option value={kind} selected={kind === typed?.kind}>
            {words}
          </option>
        ))}
      </select>
    </div>
    <Field
      id="key-until"
      label="Works until the end of"
      name="until"
      type="date"
      value={typed?.until}
      hint="A day in UTC. Empty: without an end."
    />
  </Act>
)

const UNITS = { minutes: 1, hours: 60, days: 1440 } as const
/** Shorter ones end before they are opened. */
const LEAST_MINUTES = 5

export const SignInLinkForm = ({ path, typed }: FormProps) => (
  <Act
    id="why-link"
    action={`${path}/sign-in-link`}
    name="Make a sign-in link"
    button="Make link"
    isHarmless
    why={typed?.reason}
  >
    <p class="small">Whoever opens it is signed in as this account, once. It is shown here once, for you to pass on.</p>
    <div class="pair">
      <Field
        id="link-lasts"
        label="Lasts"
        name="lasts"
        type="number"
        inputmode="numeric"
        min={1}
        max={LINK_DAYS * UNITS.days}
        step={1}
        value={typed?.lasts ?? LINK_MINUTES}
        required
      />
      <div class="field">
        <label for="link-unit">Unit</label>
        <select id="link-unit" name="unit">
          {Object.keys(UNITS).map((unit) => (
            <option value={unit} selected={unit === typed?.unit}>
              {unit}
            </option>
          ))}
        </select>
      </div>
    </div>
  </Act>
)

const NAME = `Give the key a name of 1 to ${KEY_NAME_LENGTH} characters, on one line.`
const UNTIL = 'The end must be a date like 2027-01-31, and not over.'
const LASTS = `A link lasts from ${LEAST_MINUTES} minutes to ${LINK_DAYS} days: change the number or the unit.`

export const keyFields = z.object({
  name: line(KEY_NAME_LENGTH, NAME),
  kind: z.enum(Object.keys(KINDS) as (keyof typeof KINDS)[], 'Choose the kind of the key.'),
  until: z
    .string()
    .catch('')
    .transform((text) => text.trim())
    .refine((text) => text === '' || z.iso.date().safeParse(text).success, UNTIL)
    .transform((text) => (text === '' ? null : endOfDay(new Date(text)))),
})

export const linkFields = z.object({
  lasts: z.string().catch(''),
  unit: z.enum(Object.keys(UNITS) as (keyof typeof UNITS)[], 'Choose minutes, hours or days.'),
})

/** @throws invalid_request, not_found */
export async function newKey(
  acting: Acting<Administration>,
  username: string,
  { name, kind, until }: z.output<typeof keyFields>,
  keyPrefix: string,
): Promise<Secret> {
  if (until && until.getTime() <= Date.now()) throw mistake(UNTIL)
  const { key } = await createKey(acting, username, { name, kind, expiresAt: until }, keyPrefix)
  const title = 'Copy the key now'
  return { title, label: 'New key', value: key, hint: 'It is shown this once: only its fingerprint is stored.' }
}

/** @throws invalid_request, not_found */
export async function newLink(
  acting: Acting<Administration>,
  username: string,
  { lasts, unit }: z.output<typeof linkFields>,
  baseUrl: string,
): Promise<Secret> {
  const minutes = /^\d{1,5}$/.test(lasts.trim()) ? Number(lasts) * UNITS[unit] : 0
  if (minutes < LEAST_MINUTES || minutes > LINK_DAYS * UNITS.days) throw mistake(LASTS)
  const { url } = await makeSignInLink(acting, username, { baseUrl, minutes })
  const hint = `It is shown this once, works once, and ends in ${lengthOf(minutes)}. Give it to ${username} alone.`
  return { title: 'Copy the link now', label: 'Sign-in link', value: url, hint }
}
