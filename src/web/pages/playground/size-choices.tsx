import { useTexts } from '../../texts/texts.js'
import { Choice, Choices, NumberField } from './choices.js'
import { CUSTOM, customSize, type Form, SHAPES, type Shape, shapeValue } from './form.js'
import type { factsOf } from './model-facts.js'

interface SizeChoicesProps extends Pick<ReturnType<typeof factsOf>, 'own' | 'limits'> {
  readonly form: Form
}

/** The shapes, and the fields of a size of one's own, which are in view once that is chosen. */
export function SizeChoices({ form, own, limits }: SizeChoicesProps) {
  const words = useTexts().playground.sizes
  const custom = customSize(form)
  return (
    <>
      <Choices of={words.label} class="shapes">
        <Choice name="shape" value="" checked={form.shape === ''}>
          <span class="outline">
            <span class="own" />
          </span>
          <b>{words.byDefault}</b>
          <span class="small quiet" id="own-size">
            {own.width}×{own.height}
          </span>
        </Choice>
        {SHAPES.map((shape) => (
          <ShapeChoice shape={shape} checked={shapeValue(shape) === form.shape} />
        ))}
        <Choice name="shape" value={CUSTOM} checked={custom !== undefined}>
          <b>{words.custom}</b>
        </Choice>
      </Choices>
      <div class="custom">
        <NumberField
          name="width"
          label={words.width}
          value={custom?.width ?? ''}
          {...limits.width}
          placeholder={`${own.width}`}
        />
        <NumberField
          name="height"
          label={words.height}
          value={custom?.height ?? ''}
          {...limits.height}
          placeholder={`${own.height}`}
        />
        {/* The page's script does what they say. */}
        <p class="row small" id="sides" hidden>
          <button id="swap" class="small" type="button">
            {words.swap}
          </button>
          <label class="row">
            <input id="keep-ratio" type="checkbox" /> {words.keepRatio}
          </label>
        </p>
      </div>
    </>
  )
}

/** How tall the frame of a shape is drawn, in pixels, where it is square. */
const FRAME = 22

function ShapeChoice({ shape, checked }: { shape: Shape; checked: boolean }) {
  const { name, width, height } = shape
  const scale = FRAME / Math.sqrt(width * height)
  return (
    <Choice name="shape" value={shapeValue(shape)} checked={checked}>
      <span class="outline">
        <span style={`width: ${Math.round(width * scale)}px; height: ${Math.round(height * scale)}px`} />
      </span>
      <b>{useTexts().playground.sizes.shapes[name]}</b>
      <span class="small quiet">
        {width}×{height}
      </span>
    </Choice>
  )
}
