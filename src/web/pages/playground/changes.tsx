/** The parts of the page that change in place. */
import type { ComponentChildren } from 'preact'
import type { PastGeneration } from '../../../core/generations/history.js'
import { goesOn, type UpNext } from '../../../core/up-next/up-next.js'
import { Credits } from '../../parts/layout.js'
import { useTexts } from '../../texts/texts.js'
import { ActiveStage, type ImageUrls, Partial, Result } from './stage.js'
import type { stateNow } from './state.js'
import { Strip } from './strip.js'
import { UpNextList, type UpNextView } from './up-next.js'

export interface GenerateProps {
  readonly running: boolean
  /** In credits, of the form as it is; null: no model is chosen. */
  readonly cost: number | null
  readonly held: number
  readonly upNext: UpNext
  /** The form changes an idea that is up next. */
  readonly editing?: boolean
}

/** The buttons, and a word where the credits do not suffice; the page's script keeps both up to date. */
export function Generate({ running, cost, held, upNext, editing = false }: GenerateProps) {
  const { playground: words, credits } = useTexts()
  const later = editing || running || goesOn(upNext)
  return (
    <>
      <p class="hint small" id="too-dear" hidden={later || cost === null || cost <= held}>
        {words.tooDear((text) => (
          <a href="/account">{text}</a>
        ))}
      </p>
      <button
        class="primary"
        id="generate"
        type="submit"
        name="to"
        value={later ? 'up-next' : 'now'}
        data-held={held}
        data-running={running ? '' : undefined}
      >
        {editing ? words.upNext.save : later ? words.upNext.add : words.generate}{' '}
        <span id="cost">{cost === null ? '' : `· ${credits(cost)}`}</span>
        <span class="key" aria-hidden="true">
          {words.generateKey}
        </span>
      </button>
      {!later && (upNext.ideas.length > 0 || upNext.paused !== null) && (
        <button id="line-up" class="small" type="submit" name="to" value="up-next">
          {words.upNext.add}
        </button>
      )}
    </>
  )
}

interface ChangesProps {
  /** Undefined: it stays. */
  readonly stage: ComponentChildren
  /** What the strip holds; undefined: it stays. */
  readonly strip?: ComponentChildren
  readonly running: boolean
  readonly credits: number
  readonly upNext: UpNextView
  /** What is said about the form stays: nobody has sent it. */
  readonly unasked?: boolean
}

/** The parts of the page that change when a generation begins or ends. */
export const Changes = ({ stage, strip, running, credits, upNext, unasked }: ChangesProps) => (
  <>
    {stage && <Partial of="#stage">{stage}</Partial>}
    {strip && <Partial of="#strip">{strip}</Partial>}
    <UpNextChanges {...{ running, credits, upNext }} />
    <Partial of="#credits">
      <Credits of={credits} />
    </Partial>
    {!unasked && <Partial of="#problem" />}
  </>
)

interface ChangesNowProps {
  readonly now: Awaited<ReturnType<typeof stateNow>>
  /** Whose end is told. */
  readonly ended?: PastGeneration
  readonly urls: ImageUrls
  readonly unasked?: boolean
}

/** The same by what is so now: another one may have begun, or ended, meanwhile. */
export const ChangesNow = ({ now, ended, urls, unasked = false }: ChangesNowProps) => {
  const { active, latest, recent, credits, upNext } = now
  const shown = latest?.finishedAt ? latest : ended
  const stage = active ? <ActiveStage active={active} /> : shown && <Result of={shown} recent={recent} urls={urls} />
  const strip = <Strip of={recent} urls={urls} />
  return <Changes {...{ stage, strip, credits, upNext, unasked }} running={active !== undefined} />
}

/** Those that change with what is up next. */
export const UpNextChanges = ({ running, credits, upNext }: Pick<ChangesProps, 'running' | 'credits' | 'upNext'>) => (
  <>
    <Partial of="#up-next" morph>
      <UpNextList upNext={upNext} running={running} />
    </Partial>
    <Partial of="#act" morph>
      <Generate running={running} cost={null} held={credits} upNext={upNext} />
    </Partial>
  </>
)
