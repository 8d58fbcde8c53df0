import { Marked, type Token, type Tokens } from 'marked'
import { render } from 'preact-render-to-string'
import { type Texts, TextsOfPage, useTexts } from '../../texts/texts.js'
import { LANGUAGES } from '../samples.js'

/** Between two headings: the samples stand beside the text. */
interface Section {
  readonly depth: number
  readonly id: string
  readonly title: string
  /** Of an operation. */
  endpoint?: readonly [method: string, path: string]
  text: string
  side: string
}

// A bare address is no link.
const marked = new Marked({ tokenizer: { url: () => undefined } })
const inline = (text: string) => marked.parseInline(text) as string

/**
 * The contents, the text and the samples of `referenceMarkdown` as the page shows them. Scalar and Swagger UI load
 * megabytes of script and show nothing without it.
 * @param texts what stands around the reference, which is in English
 */
export function referenceHtml(markdown: string, texts: Texts): string {
  const sections: Section[] = []
  let answer = ''
  for (const token of marked.lexer(markdown) as MarkdownToken[]) {
    const section = sections.at(-1)
    if (token.type === 'heading' && token.depth <= 3) {
      const link = token.tokens[0] as Tokens.Link
      if (token.depth > 1) sections.push(sectionOf(token.depth, link.text, link.href))
    } else if (section && token.type === 'code' && token.lang) section.side += figure(token, answer)
    else if (section) section.text += block(token, section)
    if (token.type === 'heading') answer = token.text.split(':')[0] as string
  }
  // No attribute here holds what a person wrote; in text a quote needs no escape, and there are thousands. HTML lets these
  // end tags be left out, and there are hundreds.
  const body = (
    <TextsOfPage.Provider value={texts}>
      <Body sections={sections} />
    </TextsOfPage.Provider>
  )
  return render(body)
    .replace(/>[^<>]+</g, (text) => text.replace(/&quot;|&#39;/g, unescaped))
    .replace(/<\/(?:d[dt]|li|t[dhr])>\n?/g, '')
}

type MarkdownToken = Tokens.Heading | Tokens.Code | Tokens.Table | Tokens.Paragraph | Tokens.List

const unescaped = (entity: string) => (entity === '&quot;' ? '"' : "'")
const escaped = (code: string) => code.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

const sectionOf = (depth: number, title: string, href: string): Section => ({
  ...{ depth, id: href.slice(1), title, side: '' },
  text: `<h${depth} id="${href.slice(1)}"><a href="${href}">${inline(title)}</a></h${depth}>`,
})

function block(token: MarkdownToken, section: Section): string {
  if (token.type === 'code') return `<pre>${escaped(token.text)}</pre>`
  if (token.type === 'table') return token.header[0]?.text === 'Name' ? fields(token) : scrolling(token, section.title)
  if (token.type !== 'paragraph') return marked.parser([token as Token])
  const [, method, path, origin = ''] = /^`([A-Z]+) (\S+)`(?: at `(\S+)`)?$/.exec(token.text) ?? []
  if (method && path) {
    section.endpoint = [method, path]
    return `<p class="endpoint">${render(<Method of={method} />)} <code>${origin}${path}</code></p>`
  }
  const aside = token.text.startsWith('Further [errors]') ? ' class="quiet small"' : ''
  return `<p${aside}>${inline(token.text)}</p>`
}

/** reference.js adds the buttons that copy the samples. */
function figure({ lang, text }: Tokens.Code, answer: string): string {
  const [language, name] = LANGUAGES.find(([, , fence]) => fence === lang) ?? []
  const start = language ? `<figure class="${language}">` : '<figure>'
  return `${start}<figcaption>${name ?? answer}</figcaption><pre>${escaped(text)}</pre></figure>`
}

const scrolling = (token: Tokens.Table, label: string): string =>
  `<section class="scroll" tabindex="0" aria-label="${label}">${marked.parser([token]).replaceAll('<th>', '<th scope="col">')}</section>`

function fields({ rows }: Tokens.Table): string {
  const shown = rows.map(([name, type, about]) => {
    const [rules = '', description = ''] = (about?.text ?? '').split('<br>')
    const [first, ...others] = rules.split('; ').filter((rule) => rule !== '')
    const isRequired = first === 'required'
    const facts = [type?.text, ...(isRequired || !first ? [] : [first]), ...others].join(' · ')
    const start = `<dt>${name?.text.slice(1, -1)}</dt><dd>${isRequired ? '<b>required </b>' : ''}${inline(facts)}</dd>`
    return start + (description && `<dd>${inline(description)}</dd>`)
  })
  return `<dl>${shown.join('')}</dl>`
}

const Body = ({ sections }: { sections: readonly Section[] }) => (
  <>
    <Contents sections={sections} />
    <div class="pages" lang={useEnglish()}>
      {LANGUAGES.every(([language]) => sections.some(({ side }) => side.includes(`<figure class="${language}">`))) && (
        <Languages />
      )}
      {sections.map(({ text, side }, index) => (
        <section class={isGroup(sections, index) ? 'group' : undefined}>
          {/* Without classes: the page has its limit, and many sections. The samples come second. */}
          <div dangerouslySetInnerHTML={{ __html: text }} />
          {side && <div dangerouslySetInnerHTML={{ __html: side }} />}
        </section>
      ))}
    </div>
  </>
)

/** The language of the reference, where that of the page is another. */
const useEnglish = () => (useTexts().language === 'en' ? undefined : 'en')

const Languages = () => {
  const { reference: words, language } = useTexts()
  return (
    <fieldset class="languages">
      <legend class="hidden-visually" lang={useEnglish() && language}>
        {words.languageOfSamples}
      </legend>
      {LANGUAGES.map(([language, name], index) => (
        <label>
          <input type="radio" name="language" value={language} checked={index === 0} />
          {name}
        </label>
      ))}
    </fieldset>
  )
}

/** Its operations follow. */
const isGroup = (sections: readonly Section[], index: number) =>
  sections[index]?.depth === 2 && sections[index + 1]?.depth === 3

const Contents = ({ sections }: { sections: readonly Section[] }) => {
  const { reference: words } = useTexts()
  const groups = sections.flatMap((section, index) => (isGroup(sections, index) ? [{ section, index }] : []))
  return (
    <details class="contents">
      <summary>{words.contents}</summary>
      <nav aria-label={words.contents} lang={useEnglish()}>
        <Links of={sections.slice(0, groups[0]?.index)} />
        {groups.map(({ section, index }, at) => (
          <>
            <a class="name" href={`#${section.id}`}>
              {section.title}
            </a>
            <Links of={sections.slice(index + 1, groups[at + 1]?.index)} />
          </>
        ))}
      </nav>
    </details>
  )
}

const Links = ({ of: sections }: { of: readonly Section[] }) => (
  <ul>
    {sections.map(({ id, title, endpoint }) => (
      <li>
        <a href={`#${id}`}>
          {endpoint ? (
            <>
              <Method of={endpoint[0]} /> {endpoint[1].replace(/^\/(api|admin)\/v1/, '')}
            </>
          ) : (
            title
          )}
        </a>
      </li>
    ))}
  </ul>
)

const Method = ({ of: method }: { of: string }) => <b class={method.toLowerCase()}>{method}</b>
