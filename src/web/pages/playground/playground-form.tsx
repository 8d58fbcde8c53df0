import type { ModelVersion } from '../../../core/catalog/model-version.js'
import type { ModelReadiness } from '../../../core/generations/follow/hold.js'
import { MAX_SEED, SAMPLERS, samplerName } from '../../../core/generations/generation.js'
import { MAX_PROMPT_LENGTH, PERSONAL_LIMITS } from '../../../http/shared/generation-fields.js'
import { PlanLink } from '../../parts/site-links.js'
import { useTexts } from '../../texts/texts.js'
import { Generate, type GenerateProps } from './changes.js'
import { Choice, Choices, NumberField } from './choices.js'
import { bodyOf, costOf, type Form, SHAPES } from './form.js'
import { factsOf, sharedFacts } from './model-facts.js'
import { ModelPicker } from './model-picker.js'
import { SizeChoices } from './size-choices.js'
import { Editing } from './up-next.js'

export interface Problem {
  /** One sentence. */
  readonly text: string
  /** Where the way out is. */
  readonly link?: readonly [href: string, name: string]
  /** The form's field that it is about. */
  readonly field?: string | undefined
}

export interface FormProps {
  readonly form: Form
  readonly models: readonly ModelVersion[]
  /** Whether the plan of whoever is signed in includes this one. */
  readonly includes: (model: ModelVersion) => boolean
  /** Undefined while that can't be told. */
  readonly readinessOf: ((filename: string) => ModelReadiness) | undefined
  readonly accountId: string
  readonly generate: Pick<GenerateProps, 'running' | 'held' | 'upNext'>
  /** The ID of the idea that the form changes. */
  readonly editing?: string | undefined
  readonly problem?: Problem | undefined
  /** The prompt is our example, to be drawn or typed over. */
  readonly example: boolean
  /** Nothing was asked for: what was typed here before comes back. */
  readonly plain: boolean
}

const COUNTS = Array.from({ length: PERSONAL_LIMITS.batch_size.max }, (_, n) => n + PERSONAL_LIMITS.batch_size.min)

export function PlaygroundForm({ form, models, includes, problem, example, ...props }: FormProps) {
  const { form: words, facts } = useTexts().playground
  const model = models.find(({ id }) => `${id}` === form.model_version_id)
  const cost = model ? costOf(form, model) : null
  const isTuned = [form.steps, form.cfg_scale, form.sampler, form.seed].some((value) => value !== '')
  const { usual, differing } = sharedFacts(SHAPES, facts)
  const { own, limits, hints, note } = model ? factsOf(model, SHAPES, facts) : usual
  return (
    <form
      id="create"
      class="stack"
      method="post"
      action="/playground"
      noValidate
      // What was edited gives its place to the draft from before: the page is loaded anew.
      hx-post={props.editing ? undefined : '/playground'}
      hx-target="#problem"
      hx-sync="drop"
      data-facts={JSON.stringify(usual)}
      data-draft={props.accountId}
      data-plain={props.plain ? '' : undefined}
      data-editing={props.editing}
    >
      {props.editing && <Editing id={props.editing} />}
      <div class="field">
        <label for="prompt">{words.prompt}</label>
        <textarea
          id="prompt"
          name="prompt"
          rows={4}
          dir="auto"
          autofocus
          required
          placeholder={words.describe}
          aria-describedby="count"
          aria-keyshortcuts="/"
          data-example={example ? '' : undefined}
        >
          {form.prompt}
        </textarea>
        <p class="row apart small quiet">
          <span class="keys" aria-hidden="true">
            <span class="key">/</span> {words.toWrite}
          </span>
          <span id="count" data-max={MAX_PROMPT_LENGTH}>
            {[...bodyOf(form).prompt].length} / {MAX_PROMPT_LENGTH}
          </span>
        </p>
      </div>
      <div
        id="check"
        aria-live="polite"
        hx-post="/playground/check"
        hx-trigger="input delay:600ms from:#create"
        hx-include="#create"
        hx-sync="replace"
      />
      <details open={form.negative_prompt !== ''}>
        <summary>{words.negativePrompt}</summary>
        <div class="field">
          <label class="hidden-visually" for="negative_prompt">
            {words.negativePrompt}
          </label>
          <textarea id="negative_prompt" name="negative_prompt" rows={2} dir="auto" placeholder={hints.negative_prompt}>
            {form.negative_prompt}
          </textarea>
        </div>
      </details>
      <div class="foot">
        <div id="problem" aria-live="assertive">
          {problem && <ProblemNotice problem={problem} />}
        </div>
        <div id="act">
          <Generate {...props.generate} cost={cost} editing={props.editing !== undefined} />
        </div>
        <p class="row apart small">
          <button id="reset" class="plain small" type="button" hidden>
            {words.reset}
          </button>
          <label id="notify" class="row quiet" hidden>
            <input type="checkbox" /> {words.notify}
          </label>
        </p>
      </div>
      <ModelPicker
        models={models}
        chosen={form.model_version_id}
        includes={includes}
        readinessOf={props.readinessOf}
        factsOf={differing}
      />
      <p id="note" class="small quiet" hidden={note === ''}>
        {note}
      </p>
      <SizeChoices form={form} own={own} limits={limits} />
      <Choices of={words.images} class="counts">
        {COUNTS.map((count) => (
          <Choice name="batch_size" value={`${count}`} checked={`${count}` === form.batch_size}>
            {count}
          </Choice>
        ))}
      </Choices>
      <details id="tuning" open={isTuned}>
        <summary>{words.tuning}</summary>
        <div class="tuning">
          <NumberField
            name="steps"
            label={words.steps}
            value={form.steps}
            {...limits.steps}
            placeholder={hints.steps}
          />
          <NumberField
            name="cfg_scale"
            label={words.guidance}
            value={form.cfg_scale}
            {...limits.cfg_scale}
            step="0.5"
            placeholder={hints.cfg_scale}
          />
          <div class="field">
            <label for="sampler">{words.sampler}</label>
            <select id="sampler" name="sampler">
              <option value="" selected={form.sampler === ''}>
                {hints.sampler}
              </option>
              {SAMPLERS.map((sampler) => (
                <option value={sampler} selected={sampler === form.sampler}>
                  {samplerName(sampler)}
                </option>
              ))}
            </select>
          </div>
          <NumberField
            name="seed"
            label={words.seed}
            value={form.seed}
            min={0}
            max={MAX_SEED}
            placeholder={words.random}
          />
        </div>
      </details>
    </form>
  )
}

export const ProblemNotice = ({ problem: { text, link, field } }: { problem: Problem }) => (
  <p class="problem" data-field={field}>
    {text}
    {link && (
      <>
        {' '}
        <a href={link[0]}>{link[1]}</a> {link[0] === '/account' && <PlanLink />}
      </>
    )}
  </p>
)
