import type { ComponentChildren } from 'preact'

interface FileTextFieldProps {
  /** Unique within the page; also the field's name. */
  readonly id: string
  readonly label: string
  readonly rows: number
  /** In bytes. */
  readonly maxLength: number
  readonly value: string
  /** What it takes, below the label. */
  readonly children: ComponentChildren
}

/** A field for the text of a JSON file, which workflow.js also reads from a file that is chosen or dropped on it. */
export const FileTextField = ({ id, label, rows, maxLength, value, children }: FileTextFieldProps) => (
  <div class="field drop">
    <label for={id}>{label}</label>
    <p id={`${id}-hint`} class="quiet small">
      {children}
    </p>
    <textarea
      id={id}
      name={id}
      class="mono"
      rows={rows}
      required
      spellcheck={false}
      autocomplete="off"
      aria-describedby={`${id}-hint`}
      data-file-text
      data-max={maxLength}
    >
      {value}
    </textarea>
    <p class="row small" hidden>
      <label for="file">Or choose the file, or drop it on the field:</label>
      <input id="file" type="file" accept=".json,application/json" />
    </p>
  </div>
)

/** Why no GPU server that is up can draw it, a sentence each. */
export const NotServed = ({ of: sentences }: { of: readonly string[] }) => (
  <section class="card" aria-labelledby="lacks">
    <h2 id="lacks">What the GPU servers lack</h2>
    <Sentences of={sentences} />
  </section>
)

export const Sentences = ({ of: sentences }: { of: readonly string[] }) => (
  <ul>
    {sentences.map((sentence) => (
      <li>
        <bdi>{sentence}</bdi>
      </li>
    ))}
  </ul>
)
