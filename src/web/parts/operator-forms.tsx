import type { FastifyRequest } from 'fastify'
import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import { planNameProblem, toPlanName } from '../../core/accounts/plan-name.js'
import { AppError } from '../../core/errors.js'
import { clearLeftovers } from '../../core/generations/cancel.js'
import { type Acting, actingAs } from '../../core/operator/acting.js'
import type { Administration } from '../../core/operator/administration.js'
import { type ActedBy, MAX_REASON_LENGTH } from '../../core/operator/operator-actions.js'
import { isLine } from '../../lib/text.js'
import type { WebsitePorts } from '../shared/ports.js'
import { sessionOf } from '../shared/session-cookie.js'
import { Field } from './page-parts.js'

/** One line that people can read, of a form; a field that is missing is empty. */
export const line = (maxLength: number, problem: string) =>
  z
    .string()
    .catch('')
    .transform((text) => text.trim())
    .refine((text) => isLine(text, maxLength), problem)

/** The name of a subscription's plan. @param isOptional it may be empty */
export const planName = ({ isOptional }: { readonly isOptional: boolean }) =>
  z
    .string()
    .catch('')
    .transform(toPlanName)
    .superRefine((name, context) => {
      const problem = name === '' && isOptional ? undefined : planNameProblem(name)
      if (problem) context.addIssue({ code: 'custom', message: `The plan ${problem}.` })
    })

/** What the box is called by which a plan may be none of those that there are. */
export const tickUnlisted = {
  unlisted: (message: string) => message.replace('give unlisted to begin', 'tick the box to begin'),
}

/** Where there are plans: says that a name is meant to be that of none. */
export const UnlistedTick = () => (
  <label class="row">
    <input name="unlisted" type="checkbox" value="yes" /> The name is that of no plan: it grants nothing and allows
    everything
  </label>
)

const WHY = `Say why in one line of 1 to ${MAX_REASON_LENGTH} characters: it is kept in the log.`

/** Why an operator does something. */
export const reason = line(MAX_REASON_LENGTH, WHY)

/** What a form sent, or the first thing that is wrong with it. */
export function readForm<Fields>(
  fields: z.ZodType<Fields>,
  body: unknown,
): { readonly form: Fields; readonly problem?: never } | { readonly form?: never; readonly problem: string } {
  const { data, error } = fields.safeParse(body ?? {})
  return error ? { problem: error.issues[0]?.message ?? 'Check the fields.' } : { form: data }
}

/** Who sent the form, and why. */
export const byOf = (request: FastifyRequest, reason: string): ActedBy => ({
  actor: sessionOf(request).caller.account.username,
  reason,
})

/** Whoever sent the form acts, and says why. */
export const actingOf = (ports: WebsitePorts, request: FastifyRequest, reason: string): Acting<Administration> =>
  actingAs(
    {
      stores: ports.administration,
      recorded: ports.recorded,
      outside: {
        clearLeftovers: (ended) => clearLeftovers(ports, ended),
        // What can't be removed now is tried again: the row says that it must go.
        removeImage: (slug) => ports.images.remove(slug).catch(() => undefined),
      },
    },
    byOf(request, reason),
  )

/** A mistake in a form, said on its page. */
export const mistake = (problem: string) => new AppError('invalid_request', problem)

/** What the form's own fields call what was refused. */
export const inForm =
  (words: Readonly<Record<string, (message: string) => string>>) =>
  (error: unknown): never => {
    const say = error instanceof AppError ? words[error.detail.parameter ?? ''] : undefined
    throw say ? mistake(say((error as AppError).message)) : error
  }

interface ActProps {
  /** Unique within the page. */
  readonly id: string
  readonly action: string
  /** Of what is opened, and of the button. */
  readonly name: string
  readonly button: string
  /** Which of several, for those who do not see where it stands. */
  readonly of?: string
  /** It makes something, and takes nothing away. */
  readonly isHarmless?: boolean
  /** After a mistake: why, as it was typed. The form is open then. */
  readonly why?: string | undefined
  /** Further fields, before the one that asks why. */
  readonly children?: ComponentChildren
}

/** Something that is done to a user: opened with one press, done with a second one, after saying why. */
export const Act = ({ id, action, name, button, of, isHarmless = false, why, children }: ActProps) => (
  <details class="act" open={why !== undefined}>
    <summary>
      {name}
      {of && <bdi class="hidden-visually"> {of}</bdi>}
    </summary>
    <form class="stack" method="post" action={action}>
      {children}
      <ReasonField id={id} label="Why" value={why} />
      <button class={isHarmless ? 'primary' : 'danger'} type="submit">
        {button}
      </button>
    </form>
  </details>
)

interface ReasonFieldProps {
  /** Unique within the page. */
  readonly id: string
  /** Where the page has one called Reason already. */
  readonly label?: string
  /** What was typed before. */
  readonly value?: string | undefined
}

/** The field that asks why: every act is recorded with its reason. */
export const ReasonField = ({ id, label = 'Reason', value }: ReasonFieldProps) => (
  <Field id={id} label={label} name="reason" value={value} maxlength={MAX_REASON_LENGTH} required autocomplete="off" />
)
