import { coverPath } from '../../../core/catalog/cover.js'
import type { ModelVersion } from '../../../core/catalog/model-version.js'
import { lowestPrice } from '../../../core/catalog/price.js'
import type { ModelReadiness } from '../../../core/generations/follow/hold.js'
import { useTexts } from '../../texts/texts.js'
import { Choice, Choices } from './choices.js'

interface ModelPickerProps {
  /** As they are to be shown. */
  readonly models: readonly ModelVersion[]
  /** An ID. */
  readonly chosen: string
  /** In the plan; another one cannot be chosen. */
  readonly includes: (model: ModelVersion) => boolean
  readonly readinessOf: ((filename: string) => ModelReadiness) | undefined
  /** For the page's script. */
  readonly factsOf: (model: ModelVersion) => object
}

/** From so many on they are searched. */
const MANY = 13

export const ModelPicker = ({ models, chosen, includes, readinessOf, factsOf }: ModelPickerProps) => (
  <Choices of={useTexts().playground.models.label} class="models" aside={models.length >= MANY && <ModelSearch />}>
    {models.map((model) => (
      <Choice
        name="model_version_id"
        value={`${model.id}`}
        checked={`${model.id}` === chosen}
        disabled={!includes(model)}
        data={{ 'data-facts': JSON.stringify(factsOf(model)) }}
      >
        <ModelCard model={model} isIncluded={includes(model)} readiness={readinessOf?.(model.filename)} />
      </Choice>
    ))}
  </Choices>
)

/** The page's script hides what does not match; without it all are there. */
const ModelSearch = () => {
  const words = useTexts().playground.models
  return (
    <div id="model-search" hidden>
      <label class="hidden-visually" for="model-words">
        {words.search}
      </label>
      <input id="model-words" type="search" placeholder={words.searchHint} autocomplete="off" spellcheck={false} />
      <p id="model-none" class="small quiet" role="status" />
    </div>
  )
}

interface ModelCardProps {
  readonly model: ModelVersion
  readonly isIncluded: boolean
  readonly readiness: ModelReadiness | undefined
}

const ModelCard = ({ model, isIncluded, readiness }: ModelCardProps) => (
  <>
    <img src={coverPath(model)} alt="" width="96" height="64" loading="lazy" />
    <b>
      <bdi>{model.modelName}</bdi>
    </b>
    <span class="small quiet">
      <bdi>{model.name}</bdi> · <bdi>{model.baseModel}</bdi>
    </span>
    {model.description && (
      <span class="small">
        <bdi>{model.description}</bdi>
      </span>
    )}
    <span class="small quiet">
      <span class="price">
        <Price of={model} isIncluded={isIncluded} />
        {model.nsfw && ' · 18+'}
      </span>
      {readiness && <Warmth of={readiness} />}
    </span>
  </>
)

const Price = ({ of: model, isIncluded }: { of: ModelVersion; isIncluded: boolean }) => {
  const { playground, credits } = useTexts()
  const lowest = credits(lowestPrice(model))
  if (!isIncluded) return <>{playground.models.notInPlan}</>
  return <>{model.pricing ? playground.models.from(lowest) : lowest}</>
}

/** Whether an image begins at once, after the model was loaded, or not for now. */
const Warmth = ({ of: { hold, isLoaded } }: { of: ModelReadiness }) => {
  const words = useTexts().playground.models
  return hold ? (
    <> · {words.holds[hold]}</>
  ) : isLoaded ? (
    <>
      {' '}
      · <span class="warm">{words.warm}</span>
    </>
  ) : null
}
