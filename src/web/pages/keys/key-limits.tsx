/** The limits of a key: what it shows, and the fields of its form. */
import { z } from 'zod'
import type { KeyLimits, OwnKey } from '../../../core/accounts/api-key.js'
import type { ModelVersion } from '../../../core/catalog/model-version.js'
import { endOfDay, isEndOfDay } from '../../../lib/moments.js'
import { Field } from '../../parts/page-parts.js'
import { End } from '../../parts/text.js'
import { useTexts } from '../../texts/texts.js'

export const NO_LIMITS: KeyLimits = { expiresAt: null, monthlyLimit: null, models: null }

export const LimitFields = (of: {
  readonly id: string
  readonly models: readonly ModelVersion[]
  readonly limits: KeyLimits
}) => {
  const { id, models, limits } = of
  const { limits: words } = useTexts().keys
  // Without them a key that is for these alone would be saved as one for all.
  const notOnOffer = limits.models?.filter((its) => !models.some((it) => it.id === its)) ?? []
  return (
    <div class="stack limits">
      <Field
        id={`until-${id}`}
        name="until"
        label={words.until}
        type="date"
        value={limits.expiresAt ? dayOf(limits.expiresAt) : ''}
        hint={
          words.untilHint +
          (limits.expiresAt && !isEndOfDay(limits.expiresAt) ? words.endsAt(timeOf(limits.expiresAt)) : '')
        }
      />
      <Field
        id={`limit-${id}`}
        name="monthly_limit"
        label={words.monthly}
        type="number"
        inputmode="numeric"
        min={1}
        step={1}
        value={limits.monthlyLimit ?? ''}
        hint={words.monthlyHint}
      />
      <fieldset class="stack">
        <legend>{words.models}</legend>
        <p class="small quiet">{words.modelsHint}</p>
        {models.map((it) => (
          <label key={it.id} class="row">
            <input type="checkbox" name="models" value={it.id} checked={limits.models?.includes(it.id) ?? false} />
            <span>
              <bdi>{it.modelName}</bdi> <bdi>{it.name}</bdi>
            </span>
          </label>
        ))}
        {notOnOffer.map((its) => (
          <label key={its} class="row">
            <input type="checkbox" name="models" value={its} checked />
            <span>{words.notOnOffer(its)}</span>
          </label>
        ))}
      </fieldset>
    </div>
  )
}

const dayOf = (at: Date) => at.toISOString().slice(0, 10)
const timeOf = (at: Date) => at.toISOString().slice(11, 16)

type Limited = KeyLimits & Pick<OwnKey, 'spentThisMonth'>

export const Limits = ({ of: { expiresAt, monthlyLimit, spentThisMonth, models } }: { of: Limited }) => {
  const { limits: words } = useTexts().keys
  return (
    <>
      {expiresAt && (
        <span class="reason small">
          {expiresAt.getTime() > Date.now() ? words.ends : <span class="badge bad">{words.expired}</span>}{' '}
          <End at={expiresAt} />
        </span>
      )}
      {monthlyLimit !== null && <span class="reason small">{words.spent(spentThisMonth, monthlyLimit)}</span>}
      {models && <span class="reason small">{words.only(models.length)}</span>}
    </>
  )
}

export const LimitForm = ({ of: key, models }: { of: OwnKey; models: readonly ModelVersion[] }) => {
  const { limits: words } = useTexts().keys
  return (
    <form
      id="limits"
      class="card stack"
      method="post"
      action={`/keys/${key.id}/limits`}
      aria-labelledby="limits-title"
      {...inPlace(`/keys/${key.id}/limits`)}
    >
      <h2 id="limits-title">{words.of(<bdi>{key.name || words.unnamed}</bdi>)}</h2>
      <LimitFields id={key.id} models={models} limits={key} />
      <div class="row">
        <button class="primary" type="submit">
          {words.save}
        </button>
        <a href="/keys">{words.cancel}</a>
      </div>
    </form>
  )
}

/** The form knows only the day: the same day keeps the moment that was set. */
export const withKeptEnd = (limits: KeyLimits, before: Date | null | undefined): KeyLimits => {
  const isKept = before && limits.expiresAt?.getTime() === endOfDay(new Date(dayOf(before))).getTime()
  return isKept ? { ...limits, expiresAt: before } : limits
}

/** Sends the form by htmx and swaps #keys: a reload of the page then repeats nothing. */
export const inPlace = (path: string) => ({ 'hx-post': path, 'hx-target': '#keys', 'hx-swap': 'outerHTML' })

const NOT_A_DATE = new Date(Number.NaN)
/** The end of a day that was typed. What cannot be read becomes what the core refuses, with its sentence. */
export function endOn(until: string): Date | null {
  const day = z.iso.date().safeParse(until.trim())
  return until.trim() === '' ? null : day.success ? endOfDay(new Date(day.data)) : NOT_A_DATE
}

/** What cannot be read becomes what the core refuses, here, too. */
export const limitsForm = z
  .object({
    until: z.string().catch(''),
    monthly_limit: z.string().catch(''),
    models: z.union([z.string(), z.array(z.string())]).catch([]),
  })
  .transform(({ until, monthly_limit, models }): KeyLimits => {
    const ids = [models]
      .flat()
      .filter((it) => /^\d{1,15}$/.test(it))
      .map(Number)
    return {
      expiresAt: endOn(until),
      monthlyLimit: monthly_limit.trim() === '' ? null : /^\d{1,16}$/.test(monthly_limit) ? Number(monthly_limit) : 0,
      models: ids.length > 0 ? ids : null,
    }
  })
