import { HOW_TO_RUN, LANGUAGES } from '../../parts/samples.js'
import { BlockPart, Marked } from './marked.js'
import { Method, OperationPart, SampleBlocks } from './operation-part.js'
import type { Reference } from './reference.js'

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
            A whole program: it takes the default model, submits a prompt, polls every 2.5 seconds until the end, and
            prints the answer.
          </p>
          <p>
            <Marked>{HOW_TO_RUN}</Marked>
          </p>
        </div>
        <div class="side">
          <SampleBlocks samples={programs} />
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

const Heading = ({ id, children }: { id: string; children: string }) => (
  <h2 id={id}>
    <a href={`#${id}`}>{children}</a>
  </h2>
)
