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
export const SavedSettingsBlock = ({ saved, naming, done, problem }: SettingsProps) => (
  <>
    <h2 class="legend" id="settings-title">
      Saved settings
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
          Apply
        </button>
      </div>
    )}
    <div role="status">{done && <p class="done">{done}</p>}</div>
    {problem && <p class="problem">{problem}</p>}
    {naming ? (
      <NamingForm {...naming} />
    ) : (
      <button class="small" type="submit" form="create" name="to" value="save-settings" formnovalidate>
        Save these settings…
      </button>
    )}
    {saved.length > 0 && (
      <details>
        <summary>Rename or delete</summary>
        <ul class="saved-list">
          {saved.map((settings) => (
            <Managed {...settings} />
          ))}
        </ul>
      </details>
    )}
  </>
)

/** The part of the page in which the name is asked for. */
export const NamingAsked = (props: SettingsProps) => (
  <>
    <Partial of="#saved-settings">
      <SavedSettingsBlock {...props} />
    </Partial>
    <Partial of="#problem" />
  </>
)

const NamingForm = ({ name, style, form, problem, isTaken }: Naming) => (
  <form
    class="card stack"
    method="post"
    action="/playground/settings"
    hx-post="/playground/settings"
    hx-target="#saved-settings"
  >
    <input type="hidden" name="settings" value={JSON.stringify(form)} />
    <div class="field">
      <label for="settings-name">Name of these settings</label>
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
      <label for="settings-style">Style: words for the end of each prompt, if you want any</label>
      <input
        id="settings-style"
        type="text"
        name="style"
        value={style}
        dir="auto"
        maxlength={STYLE_LENGTH}
        autocomplete="off"
        placeholder="soft watercolor, muted colours"
      />
    </div>
    <p class="small quiet">
      Saved with the model, the shape, the negative prompt and the fine tuning; not with the prompt or the seed.
    </p>
    {problem && <p class="problem">{problem}</p>}
    <p class="row">
      <button class="small primary" type="submit">
        Save
      </button>
      {isTaken && (
        <button class="small danger" type="submit" name="replace" value="yes">
          Replace them
        </button>
      )}
    </p>
  </form>
)

const Managed = ({ id, name }: Pick<SavedSettings, 'id' | 'name'>) => (
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
        aria-label={`New name of “${name}”`}
        maxlength={SETTINGS_NAME_LENGTH}
        autocomplete="off"
      />
      <button class="small" type="submit" name="do" value="rename">
        Rename
      </button>
      <button class="small danger" type="submit" name="do" value="delete" data-confirm="Really delete?">
        Delete
      </button>
    </form>
  </li>
)

/** What is wrong with the settings of a form, if anything. */
export function settingsProblem(form: Form): Problem | undefined {
  const issue = generateBody.safeParse({ ...bodyOf(form), prompt: 'anything' }).error?.issues[0]
  return issue && { text: inWords(issue.message), field: issue.path.join('.') }
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
): { readonly form: Form; readonly problem?: Problem } {
  if (!saved) return { form, problem: { text: 'These settings are gone: choose others.' } }
  const filled = { ...formOfBody(saved.body), prompt: styled(form.prompt, saved.style), seed: form.seed }
  const model = models.find(({ id }) => `${id}` === filled.model_version_id)
  if (model && includes(model)) return { form: filled }
  const why = model
    ? 'Your plan does not include the model of these settings'
    : 'The model of these settings is not on offer any more'
  return {
    form: { ...filled, model_version_id: form.model_version_id },
    problem: { text: `${why}: the rest was applied.` },
  }
}
