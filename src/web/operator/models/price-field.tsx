import { MAX_PRICE } from '../../../core/operator/catalog.js'
import { Field } from '../../parts/page-parts.js'

interface PriceFieldProps {
  readonly id: string
  readonly value: string | number
  /** What else an image costs. */
  readonly besides?: string
}

export const PriceField = ({ id, value, besides = '' }: PriceFieldProps) => (
  <Field
    id={id}
    label={`Credits per image${besides}`}
    type="number"
    min={0}
    max={MAX_PRICE}
    step={1}
    value={value}
    required
  />
)
