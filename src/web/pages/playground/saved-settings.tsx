import {
  type SavedSettings,
  SETTINGS_NAME_LENGTH,
  type SettingsBody,
  STYLE_LENGTH,
  styled,
} from '../../../core/accounts/saved-settings.js'
import type { ModelVersion } from '../../../core/catalog/model-version.js'
import { generateBody } from '../../../http/personal-api/generations/submit-schemas.js'
import { inWords } from '../../texts/refusals.js'
import { type Texts, useTexts } from '../../texts/texts.js'
import { bodyOf, type Form, formOfBody } from './form.js'
import type { Problem } from './playground-form.js'
import { Partial } from './stage.js'

/** Settings that are being given a name. */
export interface Naming {
  readonly name: string
  readonly style: string
  /** The form that they were taken from. */
  readonly form: Form
  readonly problem?: string | undefined
  /** Others have the name: the person may say that these are to replace them. */
  readonly isTaken?: boolean
}

export interface SettingsProps {
  readonly saved: readonly Pick<SavedSettings, 'id' | 'name'>[]
  readonly naming?: Naming | undefined
  /** What has just been done. */
  readonly done?: string | undefined
  readonly problem?: string | undefined
}

/** What #saved-settings holds, below the form, to which its first fields belong. */
export const SavedSettingsBlock = ({ saved, naming, done, problem }: SettingsProps) => {
  const words = useTexts().playground.saved
  return (
    <>
      <h2 class="legend" id="settings-title">
        {words.title}
      </h2>
      {saved.length > 0 && (
        <div class="row saved">
          <select name="settings" form="create" aria-labelledby="settings-title">
            {saved.map(({ id, name }) => (
              <option value={id} dir="auto">
                {name}
              </option>
            ))}
          </select>
          <button class="small" type="submit" form="create" name="to" value="apply" formnovalidate>
            {words.apply}
          </button>
        </div>
      )}
      <div role="status">{done && <p class="done">{done}</p>}</div>
      {problem && <p class="problem">{problem}</p>}
      {naming ? (
        <NamingForm {...naming} />
      ) : (
        <button class="small" type="submit" form="create" name="to" value="save-settings" formnovalidate>
          {words.begin}
        </button>
      )}
      {saved.length > 0 && (
        <details>
          <summary>{words.manage}</summary>
          <ul class="saved-list">
            {saved.map((settings) => (
              <Managed {...settings} />
            ))}
          </ul>
        </details>
      )}
    </>
  )
}

/** The part of the page in which the name is asked for. */
export const NamingAsked = (props: SettingsProps) => (
  <>
    <Partial of="#saved-settings">
      <SavedSettingsBlock {...props} />
    </Partial>
    <Partial of="#problem" />
  </>
)

const NamingForm = ({ name, style, form, problem, isTaken }: Naming) => {
  const words = useTexts().playground.saved
  return (
    <form
      class="card stack"
      method="post"
      action="/playground/settings"
      hx-post="/playground/settings"
      hx-target="#saved-settings"
    >
      <input type="hidden" name="settings" value={JSON.stringify(form)} />
      <div class="field">
        <label for="settings-name">{words.name}</label>
        <input
          id="settings-name"
          type="text"
          name="name"
          value={name}
          dir="auto"
          maxlength={SETTINGS_NAME_LENGTH}
          autocomplete="off"
          required
        />
      </div>
      <div class="field">
        <label for="settings-style">{words.style}</label>
        <input
          id="settings-style"
          type="text"
          name="style"
          value={style}
          dir="auto"
          maxlength={STYLE_LENGTH}
          autocomplete="off"
          placeholder={words.styleHint}
        />
      </div>
      <p class="small quiet">{words.what}</p>
      {problem && <p class="problem">{problem}</p>}
      <p class="row">
        <button class="small primary" type="submit">
          {words.save}
        </button>
        {isTaken && (
          <button class="small danger" type="submit" name="replace" value="yes">
            {words.replace}
          </button>
        )}
      </p>
    </form>
  )
}

const Managed = ({ id, name }: Pick<SavedSettings, 'id' | 'name'>) => {
  const words = useTexts().playground.saved
  return (
    <li>
      <form
        class="row"
        method="post"
        action={`/playground/settings/${id}`}
        hx-post={`/playground/settings/${id}`}
        hx-target="#saved-settings"
      >
        <input
          type="text"
          name="name"
          value={name}
          dir="auto"
          aria-label={words.newName(name)}
          maxlength={SETTINGS_NAME_LENGTH}
          autocomplete="off"
        />
        <button class="small" type="submit" name="do" value="rename">
          {words.rename}
        </button>
        <button class="small danger" type="submit" name="do" value="delete" data-confirm={words.removeConfirm}>
          {words.remove}
        </button>
      </form>
    </li>
  )
}

/** What is wrong with the settings of a form, if anything. */
export function settingsProblem(form: Form, texts: Texts): Problem | undefined {
  const issue = generateBody.safeParse({ ...bodyOf(form), prompt: 'anything' }).error?.issues[0]
  return issue && { text: inWords(issue.message, texts), field: issue.path.join('.') }
}

/** What of a form is saved. */
export function settingsOf(form: Form): SettingsBody {
  const { prompt: _, seed: __, ...settings } = bodyOf(form)
  return settings
}

/** The form with saved settings: its prompt and its seed stay, and its model where theirs cannot be used. */
export function applied(
  saved: SavedSettings | undefined,
  form: Form,
  models: readonly ModelVersion[],
  includes: (model: ModelVersion) => boolean,
  { playground: { saved: words } }: Texts,
): { readonly form: Form; readonly problem?: Problem } {
  if (!saved) return { form, problem: { text: words.gone } }
  const filled = { ...formOfBody(saved.body), prompt: styled(form.prompt, saved.style), seed: form.seed }
  const model = models.find(({ id }) => `${id}` === filled.model_version_id)
  if (model && includes(model)) return { form: filled }
  return {
    form: { ...filled, model_version_id: form.model_version_id },
    problem: { text: model ? words.notInPlan : words.notOffered },
  }
}
