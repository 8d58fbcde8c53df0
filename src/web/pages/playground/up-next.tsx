import type { ModelVersion } from '../../../core/catalog/model-version.js'
import { priceOf } from '../../../core/catalog/price.js'
import { filledFor } from '../../../core/generations/submit/requested.js'
import { goesOn, type Idea, type UpNext } from '../../../core/up-next/up-next.js'
import { generateBody } from '../../../http/personal-api/generations/submit-schemas.js'
import { beginningOf } from '../../../lib/text.js'
import { inWords } from '../../texts/refusals.js'
import { type Texts, useTexts } from '../../texts/texts.js'

/** What is up next, with the models on offer, by which it is named and priced. */
export interface UpNextView extends UpNext {
  readonly models: readonly ModelVersion[]
}

interface ListProps {
  readonly upNext: UpNextView
  readonly running: boolean
}

/** What #up-next holds: nothing where nothing is lined up. */
export function UpNextList({ upNext, running }: ListProps) {
  const words = useTexts().playground.upNext
  const { ideas, paused, models } = upNext
  if (ideas.length === 0 && paused !== 'by_person') return null
  return (
    <div class="card stack">
      {/* The next one begins by itself: the page looks until it has. */}
      {!running && goesOn(upNext) && <div hx-get="/playground/up-next" hx-trigger="every 1s" hx-swap="none" />}
      <div class="row apart">
        <h2 id="up-next-title">{words.title}</h2>
        <form class="row" method="post" action="/playground/up-next" hx-post="/playground/up-next" hx-target="#problem">
          <button id="up-next-pause" class="small" type="submit" name="do" value={paused === null ? 'pause' : 'go-on'}>
            {paused === null ? words.pause : words.goOn}
          </button>
          {ideas.length > 0 && (
            <button class="small danger" type="submit" name="do" value="clear" data-confirm={words.clearConfirm}>
              {words.clear}
            </button>
          )}
        </form>
      </div>
      <p class="quiet small" role="status">
        {sentenceOf(upNext, running, words)}
      </p>
      {ideas.length > 0 && (
        <ol class="ideas" aria-labelledby="up-next-title">
          {ideas.map((idea) => (
            <IdeaLine idea={idea} models={models} />
          ))}
        </ol>
      )}
    </div>
  )
}

function sentenceOf({ ideas, paused }: UpNext, running: boolean, words: Texts['playground']['upNext']): string {
  const count = words.ideas(ideas.length)
  if (paused === 'by_person') return ideas.length === 0 ? words.pausedEmpty : words.paused(count)
  if (paused === 'by_refusal') return words.refused(count)
  return words.waiting(count, running)
}

/** As much of a prompt as its lines show: there may be many long ones. */
const SHOWN = 240

const IdeaLine = ({ idea: { id, body, refusal }, models }: { idea: Idea; models: readonly ModelVersion[] }) => {
  const texts = useTexts()
  const words = texts.playground.upNext
  return (
    <li id={`idea-${id}`}>
      <p class="idea" dir="auto">
        {beginningOf(`${body.prompt}`, SHOWN)}
      </p>
      {refusal && <p class="problem">{inWords(refusal, texts)}</p>}
      <div class="row apart">
        <p class="quiet small">
          <Facts body={body} models={models} />
        </p>
        <form
          class="row"
          method="post"
          action={`/playground/up-next/${id}`}
          hx-post={`/playground/up-next/${id}`}
          hx-target="#problem"
        >
          <button class="small" id={`up-${id}`} type="submit" name="do" value="up" aria-describedby={`idea-${id}`}>
            <span class="hidden-visually">{words.move} </span>
            <span aria-hidden="true">↑</span>
            <span class="hidden-visually">{words.up}</span>
          </button>
          <button class="small" id={`down-${id}`} type="submit" name="do" value="down" aria-describedby={`idea-${id}`}>
            <span class="hidden-visually">{words.move} </span>
            <span aria-hidden="true">↓</span>
            <span class="hidden-visually">{words.down}</span>
          </button>
          <a class="button small" href={`/playground?idea=${id}`}>
            {words.edit}
          </a>
          <button class="small" type="submit" name="do" value="remove">
            {words.remove}
          </button>
        </form>
      </div>
    </li>
  )
}

/** With which model, how large and how many it is drawn, and what that costs now. */
function Facts({ body, models }: Pick<Idea, 'body'> & { models: readonly ModelVersion[] }) {
  const texts = useTexts()
  const { data } = generateBody.safeParse(body)
  const model = data && models.find(({ id }) => id === data.modelVersionId)
  if (!data || !model) return <>{texts.playground.upNext.noModel}</>
  const drawn = filledFor(model.parameters, data)
  return (
    <>
      <bdi>{model.modelName}</bdi> · {drawn.width}×{drawn.height} · {texts.images(drawn.batchSize)} ·{' '}
      {texts.credits(priceOf(model, drawn))}
    </>
  )
}

/** Above the fields of an idea that is being changed. */
export const Editing = ({ id }: { id: string }) => {
  const words = useTexts().playground.upNext
  return (
    <p class="hint small">
      <input type="hidden" name="idea" value={id} />
      {words.editing} <a href="/playground">{words.leave}</a>
    </p>
  )
}
