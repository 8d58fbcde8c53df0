import type { ComponentChildren } from 'preact'

interface PagerProps {
  /** Undefined on the first page. */
  readonly first: string | undefined
  /** Undefined on the last one. */
  readonly next: string | undefined
}

/** The way to the next page of a list, and back to its beginning. */
export const Pager = ({ first, next }: PagerProps) =>
  first || next ? (
    <nav class="row pages" aria-label="Pages">
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
