import type { ModelVersion } from '../../../core/catalog/model-version.js'
import type { ImageOrder, MadeOn, Shape } from '../../../core/gallery/gallery.js'
import { useTexts } from '../../texts/texts.js'

export interface GalleryFilter extends Readonly<Record<string, string | number | undefined>> {
  readonly folder: string | undefined
  /** Empty: all prompts. */
  readonly q: string
  readonly model: number | undefined
  readonly made: MadeOn | undefined
  readonly shape: Shape | undefined
  /** Days in UTC, the first and the last. */
  readonly from: string | undefined
  readonly to: string | undefined
  /** Undefined: the newest first. */
  readonly sort: ImageOrder | undefined
}

const isNarrow = ({ made, shape, from, to }: GalleryFilter) => Boolean(made || shape || from || to)
/** Whether some images of the folder may be left out. */
export const isFiltered = (filter: GalleryFilter) => filter.q !== '' || filter.model !== undefined || isNarrow(filter)

interface ChoiceProps {
  readonly name: string
  readonly label: string
  readonly value: string | number | undefined
  /** The first stands for no choice. */
  readonly options: readonly (readonly [value: string | number, text: string])[]
}

const Choice = ({ name, label, value = '', options }: ChoiceProps) => (
  <select name={name} aria-label={label}>
    {options.map(([option, text]) => (
      <option value={option} selected={option === value}>
        {text}
      </option>
    ))}
  </select>
)

/** What the gallery shows, and in which order; each change is followed at once. */
export const Filters = ({ filter, models }: { filter: GalleryFilter; models: readonly ModelVersion[] }) => {
  const { filters: words } = useTexts().gallery
  return (
    <search>
      <form
        class="filters"
        action="/gallery"
        hx-get="/gallery"
        hx-trigger="input delay:250ms, submit"
        hx-target="#found"
        hx-sync="this:replace"
      >
        {filter.folder && <input type="hidden" name="folder" value={filter.folder} />}
        <input
          type="search"
          name="q"
          value={filter.q}
          placeholder={words.search}
          aria-label={words.search}
          maxlength={200}
          autocomplete="off"
        />
        <Choice
          name="model"
          label={words.model}
          value={filter.model}
          options={[
            ['', words.allModels],
            ...models.map(({ id, modelName, name }) => [id, `${modelName} ${name}`] as const),
          ]}
        />
        <Choice
          name="sort"
          label={words.order}
          value={filter.sort}
          options={[
            ['', words.newest],
            ['oldest', words.oldest],
          ]}
        />
        <details open={isNarrow(filter)}>
          <summary>{words.more}</summary>
          <div class="row">
            <Choice
              name="shape"
              label={words.shape}
              value={filter.shape}
              options={[
                ['', words.anyShape],
                ['portrait', words.shapes.portrait],
                ['landscape', words.shapes.landscape],
                ['square', words.shapes.square],
              ]}
            />
            <Choice
              name="made"
              label={words.made}
              value={filter.made}
              options={[
                ['', words.madeAnyhow],
                ['website', words.madeOn.website],
                ['api', words.madeOn.api],
              ]}
            />
            <label class="row">
              {words.from} <input type="date" name="from" value={filter.from} />
            </label>
            <label class="row">
              {words.to} <input type="date" name="to" value={filter.to} />
            </label>
          </div>
        </details>
        <noscript>
          <button type="submit">{words.submit}</button>
        </noscript>
      </form>
    </search>
  )
}
