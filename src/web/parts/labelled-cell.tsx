import type { ComponentChildren } from 'preact'

/** A cell of a table that becomes a list of cards on a phone. */
export const Cell = (props: { label: string; class?: string; children: ComponentChildren }) => (
  <td data-label={props.label} class={props.class}>
    <div>{props.children}</div>
  </td>
)
