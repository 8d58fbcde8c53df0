import { LANGUAGES, type Samples } from '../../parts/samples.js'
import type { Field } from './fields.js'
import { Marked } from './marked.js'
import type { Answer, Operation } from './reference.js'

export const Method = ({ of: method }: { of: string }) => <b class={method.toLowerCase()}>{method}</b>

/** One operation: what it takes and answers, and beside it how it is called and what that looks like. */
export const OperationPart = (operation: Operation) => {
  const { id, method, path, origin, summary, description, parameters, body, answers, errors, samples } = operation
  return (
    <section>
      <div class="text">
        <h3 id={id}>
          <a href={`#${id}`}>{summary}</a>
        </h3>
        <p class="endpoint">
          <Method of={method} />{' '}
          <code>
            {origin}
            {path}
          </code>
        </p>
        <p>
          <Marked>{description}</Marked>
        </p>
        <Fields heading="Parameters" fields={parameters} />
        <Fields heading="Body" fields={body} />
        {answers.map((answer) => (
          <AnswerPart {...answer} />
        ))}
        {errors.length > 0 && (
          <p class="quiet small">
            Further <a href="#errors">errors</a>: {errors.map(({ status }) => status).join(', ')}
          </p>
        )}
      </div>
      <div class="side">
        <SampleBlocks samples={samples} />
        {answers.map(
          ({ status, example, like }) =>
            example &&
            !like && (
              <figure>
                <figcaption>Answer {status}</figcaption>
                <pre>{example}</pre>
              </figure>
            ),
        )}
      </div>
    </section>
  )
}

const AnswerPart = ({ status, meaning, description, contentType, fields, like, headers }: Answer) => (
  <>
    <h4>
      Answer {status}: {meaning} {contentType && contentType !== 'application/json' && <code>{contentType}</code>}
    </h4>
    {description && (
      <p>
        <Marked>{description}</Marked>
      </p>
    )}
    {like && (
      <p>
        The fields are those of <a href={`#${like.id}`}>{like.summary}</a>.
      </p>
    )}
    <FieldList
      fields={[...fields, ...headers.map((header) => ({ ...header, type: 'header', required: false, notes: [] }))]}
    />
  </>
)

const Fields = ({ heading, fields }: { heading: string; fields: readonly Field[] }) =>
  fields.length > 0 && (
    <>
      <h4>{heading}</h4>
      <FieldList fields={fields} />
    </>
  )

const FieldList = ({ fields }: { fields: readonly Field[] }) =>
  fields.length > 0 && (
    <dl>
      {fields.map(({ name, type, required, notes, description }) => (
        <>
          <dt>{name}</dt>
          <dd>
            {required && <b>required </b>}
            <Marked>{[type, ...notes].join(' · ')}</Marked>
          </dd>
          {description && (
            <dd>
              <Marked>{description}</Marked>
            </dd>
          )}
        </>
      ))}
    </dl>
  )

/** reference.js adds the buttons that copy them. */
export const SampleBlocks = ({ samples }: { samples: Samples }) => (
  <>
    {LANGUAGES.map(([language, name]) => (
      <figure class={language}>
        <figcaption>{name}</figcaption>
        <pre>{samples[language]}</pre>
      </figure>
    ))}
  </>
)
