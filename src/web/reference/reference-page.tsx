import type { ComponentChildren } from 'preact'
import type { SignedIn } from '../../account/session.js'
import { Layout } from '../layout.js'
import type { Field } from './fields.js'
import type { Block } from './prose.js'
import type { Answer, Operation, Reference } from './reference.js'
import { LANGUAGES, type Samples } from './samples.js'

interface PageProps {
  readonly baseUrl: string
  readonly signedIn: SignedIn | null
  /** ReferenceBody as HTML: it is the same for everybody. */
  readonly body: string
}

/** The page of the reference around its body. */
export const ReferencePage = ({ baseUrl, signedIn, body }: PageProps) => (
  <Layout
    title="API reference"
    signedIn={signedIn}
    path="/docs"
    listed
    script="reference.js"
    class="reference"
    head={
      <>
        <meta
          name="description"
          content="Every endpoint of Easel's API: generate images from text over HTTP, with samples in curl, Python and TypeScript."
        />
        <link rel="canonical" href={`${baseUrl}/docs`} />
        <link rel="alternate" type="text/markdown" href="/docs.md" />
        <link rel="alternate" type="application/json" href="/openapi.json" title="OpenAPI 3.1" />
      </>
    }
  >
    <header class="stack">
      <h1>API reference</h1>
      <p class="lead">Images from words, over HTTP. Submit a prompt, follow it, keep the link.</p>
      <p class="row formats">
        <a href="/openapi.json">OpenAPI 3.1</a>
        <a href="/docs.md">Markdown</a>
        <a href="/llms.txt">llms.txt</a>
        <span class="quiet">
          {signedIn ? (
            <>
              You are <bdi>{signedIn.caller.account.username}</bdi>: <a href="/keys">create a key</a>
            </>
          ) : (
            <>
              <a href="/sign-in?next=%2Fkeys">Sign in</a> to create a key
            </>
          )}
        </span>
      </p>
    </header>
    {/* Rendered by preact, once for everybody. */}
    <div class="whole" dangerouslySetInnerHTML={{ __html: body }} />
  </Layout>
)

/** The contents, the text and the samples. */
export const ReferenceBody = ({ programs, chapters, groups }: Reference) => (
  <>
    <Contents chapters={chapters} groups={groups} />
    <div class="pages">
      <fieldset class="languages">
        <legend class="hidden-visually">Language of the samples</legend>
        {LANGUAGES.map(([language, name], index) => (
          <label>
            <input type="radio" name="language" value={language} checked={index === 0} />
            {name}
          </label>
        ))}
      </fieldset>
      <section>
        <div class="text">
          <Heading id="begin">Begin here</Heading>
          <p>
            A whole program: it chooses a model, submits a prompt, polls every 2.5 seconds until the end, and prints the
            answer. Put your key into the environment variable <code>EASEL_KEY</code> and run it.
          </p>
        </div>
        <div class="side">
          <SampleBlocks id="begin" samples={programs} />
        </div>
      </section>
      {chapters.map(({ id, heading, blocks }) => (
        <section>
          <div class="text">
            <Heading id={id}>{heading}</Heading>
            {blocks.map((block) => (
              <BlockPart block={block} label={heading} />
            ))}
          </div>
        </section>
      ))}
      {groups.map(({ id, name, description, operations }) => (
        <>
          <section class="group">
            <div class="text">
              <Heading id={id}>{name}</Heading>
              <p class="quiet">{description}.</p>
            </div>
          </section>
          {operations.map((operation) => (
            <OperationPart {...operation} />
          ))}
        </>
      ))}
    </div>
  </>
)

const Contents = ({ chapters, groups }: Pick<Reference, 'chapters' | 'groups'>) => (
  <details class="contents">
    <summary>Contents</summary>
    <nav aria-label="Contents">
      <ul>
        <li>
          <a href="#begin">Begin here</a>
        </li>
        {chapters.map(({ id, heading }) => (
          <li>
            <a href={`#${id}`}>{heading}</a>
          </li>
        ))}
      </ul>
      {groups.map(({ id, name, operations }) => (
        <>
          <a class="name" href={`#${id}`}>
            {name}
          </a>
          <ul>
            {operations.map((operation) => (
              <li>
                <a href={`#${operation.id}`}>
                  <Method of={operation.method} /> {operation.path.replace(/^\/api\/v1/, '')}
                </a>
              </li>
            ))}
          </ul>
        </>
      ))}
    </nav>
  </details>
)

const Method = ({ of: method }: { of: string }) => <b class={method.toLowerCase()}>{method}</b>

const Heading = ({ id, children }: { id: string; children: string }) => (
  <h2 id={id}>
    <a href={`#${id}`}>{children}</a>
  </h2>
)

const OperationPart = (operation: Operation) => {
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
        <SampleBlocks id={id} samples={samples} />
        {answers.map(
          ({ status, example }) =>
            example && (
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
        <div>
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
        </div>
      ))}
    </dl>
  )

const SampleBlocks = ({ id, samples }: { id: string; samples: Samples }) => (
  <>
    {LANGUAGES.map(([language, name]) => (
      <figure class={language}>
        <figcaption>
          {name}
          <button type="button" class="plain" data-copy={`#${id}-${language}`}>
            Copy
          </button>
        </figcaption>
        <pre id={`${id}-${language}`}>{samples[language]}</pre>
      </figure>
    ))}
  </>
)

const BlockPart = ({ block, label }: { block: Block; label: string }) => {
  if (typeof block === 'string')
    return (
      <p>
        <Marked>{block}</Marked>
      </p>
    )
  if ('code' in block) return <pre>{block.code}</pre>
  if ('list' in block)
    return (
      <ul>
        {block.list.map((line) => (
          <li>
            <Marked>{line}</Marked>
          </li>
        ))}
      </ul>
    )
  return (
    <section class="scroll" tabindex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            {block.head.map((cell) => (
              <th scope="col">
                <Marked>{cell}</Marked>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {block.rows.map((row) => (
            <tr>
              {row.map((cell) => (
                <td>
                  <Marked>{cell}</Marked>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** `code`, **strong** and [link](address); everything else is text. */
const Marked = ({ children }: { children: string }): ComponentChildren =>
  children.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\))/).map((part) => {
    if (/^`.+`$/.test(part)) return <code>{part.slice(1, -1)}</code>
    if (part.startsWith('**')) return <strong>{part.slice(2, -2)}</strong>
    const [, name, href] = /^\[(.+)\]\((.+)\)$/.exec(part) ?? []
    return href ? <a href={href}>{name}</a> : part
  })
