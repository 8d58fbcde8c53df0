import type { ComponentChildren } from 'preact'
import { Field } from '../../parts/page-parts.js'

interface ChoicesProps {
  readonly of: string
  readonly class: string
  /** Between the name and the cards. */
  readonly aside?: ComponentChildren
  readonly children: ComponentChildren
}

/** Radio buttons that look like cards. */
export const Choices = ({ of: name, aside, ...props }: ChoicesProps) => (
  <div role="radiogroup" aria-labelledby={`${props.class}-name`}>
    <span class="legend" id={`${props.class}-name`}>
      {name}
    </span>
    {aside}
    <div class={`choices ${props.class}`}>{props.children}</div>
  </div>
)

interface ChoiceProps {
  readonly name: string
  readonly value: string
  readonly checked: boolean
  readonly disabled?: boolean
  readonly data?: Readonly<Record<`data-${string}`, string>>
  readonly children: ComponentChildren
}

export const Choice = ({ data, children, ...input }: ChoiceProps) => (
  <label class="choice">
    <input type="radio" {...input} {...data} />
    {children}
  </label>
)

interface NumberFieldProps {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly min: number
  readonly max: number
  readonly step?: string | number
  readonly placeholder?: string
}

export const NumberField = ({ name, label, ...input }: NumberFieldProps) => (
  <Field id={name} label={label} type="number" inputmode="decimal" {...input} />
)
