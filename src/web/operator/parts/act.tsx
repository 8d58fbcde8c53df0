import type { ComponentChildren } from 'preact'
import { ReasonField } from './operator-layout.js'

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
      <ReasonField id={id} label="Why" />
      <button class="danger" type="submit">
        {button}
      </button>
    </form>
  </details>
)
