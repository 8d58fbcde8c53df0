import type { ComponentChildren } from 'preact'

interface NoticesProps {
  /** What was done. */
  readonly done?: string | undefined
  /** Why nothing was done. */
  readonly problem?: string | undefined
}

/** What came of the form that led here. */
export const Notices = ({ done, problem }: NoticesProps) => (
  <>
    {done && (
      <p class="done" role="status">
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

interface ActProps {
  /** Unique within the page. */
  readonly id: string
  readonly action: string
  /** Of what is opened, and of the button. */
  readonly name: string
  readonly button: string
  /** Which of several, for those who do not see where it stands. */
  readonly of?: string
  /** Further fields, before the one that asks why. */
  readonly children?: ComponentChildren
}

/** Something that is done to a user: opened with one press, done with a second one, after saying why. */
export const Act = ({ id, action, name, button, of, children }: ActProps) => (
  <details class="act">
    <summary>
      {name}
      {of && <bdi class="hidden-visually"> {of}</bdi>}
    </summary>
    <form class="stack" method="post" action={action}>
      {children}
      <WhyField id={id} />
      <button class="danger" type="submit">
        {button}
      </button>
    </form>
  </details>
)

/** The page has one field called Reason, that of the credits; this is the others'. */
export const WhyField = ({ id }: { id: string }) => (
  <div class="field">
    <label for={id}>Why</label>
    <input id={id} name="reason" maxlength={500} required autocomplete="off" />
  </div>
)

/** The way to the next page of a list, and back to its beginning. */
export const Pager = ({ first, next }: { first: string | undefined; next: string | undefined }) =>
  first || next ? (
    <nav class="row" aria-label="Pages">
      {first && (
        <a class="button small" href={first}>
          First page
        </a>
      )}
      {next && (
        <a class="button small" href={next}>
          Next page
        </a>
      )}
    </nav>
  ) : null

/** A table that scrolls by itself where it is too wide. */
export const Scroll = ({ label, children }: { label: string; children: ComponentChildren }) => (
  <section class="scroll" tabindex={0} aria-label={label}>
    {children}
  </section>
)

/** A subscription's state. */
export const StatusBadge = ({ status }: { status: string }) => (
  <span class={`badge ${status === 'active' ? 'good' : 'bad'}`}>{status.replaceAll('_', ' ')}</span>
)

export const number = (value: number) => value.toLocaleString('en')
