import type { ComponentChildren, InputHTMLAttributes } from 'preact'
import { useTexts } from '../texts/texts.js'

interface PagerProps {
  /** Undefined on the first page. */
  readonly first: string | undefined
  /** Undefined on the last one. */
  readonly next: string | undefined
}

/** The way to the next page of a list, and back to its beginning. */
export const Pager = ({ first, next }: PagerProps) => {
  const { pages } = useTexts().parts
  return first || next ? (
    <nav class="row pages" aria-label={pages.label}>
      {first && (
        <a class="button small" href={first}>
          {pages.first}
        </a>
      )}
      {next && (
        <a class="button small" href={next}>
          {pages.next}
        </a>
      )}
    </nav>
  ) : null
}

/** A cell of a table that becomes a list of cards on a phone. */
export const Cell = (props: { label: string; class?: string; children: ComponentChildren }) => (
  <td data-label={props.label} class={props.class}>
    <div>{props.children}</div>
  </td>
)

/** A line of `dl.facts`. */
export const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

interface NoticesProps {
  /** What was done. */
  readonly done?: string | undefined
  /** Why nothing was done. */
  readonly problem?: string | undefined
  /** Where the part of the page that had the focus was exchanged. */
  readonly takesFocus?: boolean
}

/** What came of the form that led here. */
export const Notices = ({ done, problem, takesFocus = false }: NoticesProps) => (
  <>
    {done && (
      <p class="done" role="status" {...(takesFocus && { tabindex: -1, autofocus: true })}>
        {done}
      </p>
    )}
    {problem && (
      <p class="problem" role="alert">
        {problem}
      </p>
    )}
  </>
)

interface ShortcutHelpProps {
  /** Of each act, its keys and what it does. */
  readonly keys: readonly (readonly [keys: readonly string[], act: string])[]
}

/** A button, and the dialog that it and `?` open: the page's keys, and a switch for who has letters do other things. */
export const ShortcutHelp = ({ keys }: ShortcutHelpProps) => {
  const { shortcuts } = useTexts().parts
  return (
    <>
      <button class="plain small shortcuts-open" type="button" hidden>
        <kbd>?</kbd> {shortcuts.title}
      </button>
      <dialog id="shortcuts" class="card" aria-labelledby="shortcuts-title">
        <form class="stack" method="dialog">
          <h2 id="shortcuts-title">{shortcuts.title}</h2>
          <dl class="facts">
            {[...keys, [['?'], shortcuts.these] as const].map(([names, act]) => (
              <div>
                <dt>{act}</dt>
                <dd>
                  {names.map((name) => (
                    <>
                      <kbd>{name}</kbd>{' '}
                    </>
                  ))}
                </dd>
              </div>
            ))}
          </dl>
          <label class="row">
            <input type="checkbox" id="letters" checked /> {shortcuts.letters}
          </label>
          <button type="submit" autofocus>
            {shortcuts.close}
          </button>
        </form>
      </dialog>
    </>
  )
}

interface FieldProps extends InputHTMLAttributes {
  /** Unique within the page; also the field's name, unless it has another. */
  readonly id: string
  readonly label: string
  /** What it is for, under it. */
  readonly hint?: string | undefined
}

/** A field of a form, under its label. */
export const Field = ({ id, name = id, label, hint, ...input }: FieldProps) => (
  <div class="field">
    <label for={id}>{label}</label>
    <input id={id} name={name} {...input} aria-describedby={hint && `${id}-hint`} />
    {hint && (
      <p id={`${id}-hint`} class="quiet small">
        {hint}
      </p>
    )}
  </div>
)

/** A subscription's state. */
export const StatusBadge = ({ status }: { status: string }) => {
  const statuses: Readonly<Record<string, string>> = useTexts().parts.statuses
  return (
    <span class={`badge ${status === 'active' ? 'good' : 'bad'}`}>
      {statuses[status] ?? status.replaceAll('_', ' ')}
    </span>
  )
}
