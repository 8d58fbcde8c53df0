import { HOW_TO_RUN, LANGUAGES } from '../../parts/samples.js'
import type { Field } from './fields.js'
import type { Block } from './prose.js'
import type { Answer, Operation, Reference } from './reference.js'

/** The reference as Markdown, for language models and for those who keep it. */
export function referenceMarkdown({ baseUrl, summary, description, programs, chapters, groups }: Reference): string {
  const parts = [
    '# Easel: API reference',
    `${summary}. ${description}`,
    '## Begin here',
    HOW_TO_RUN,
    ...LANGUAGES.flatMap(([language, name, fence]) => [`With ${name}:`, fenced(programs[language], fence)]),
    ...chapters.flatMap(({ heading, blocks }) => [`## ${heading}`, ...blocks.map(block)]),
    ...groups.flatMap((group) => [
      `## ${group.name}`,
      `${group.description}.`,
      ...group.operations.flatMap((operation) => operationParts(operation)),
    ]),
  ]
  // Addresses of this website, which a file that was saved elsewhere does not know.
  const absolute = (_: string, path: string) => `](${baseUrl}${path.startsWith('#') ? '/docs' : ''}${path}`
  return `${parts.join('\n\n').replace(/\]\((#|\/)/g, absolute)}\n`
}

const fenced = (text: string, language = '') => `\`\`\`${language}\n${text}\n\`\`\``

function block(it: Block): string {
  if (typeof it === 'string') return asText(it)
  if ('list' in it) return it.list.map((line) => `- ${asText(line)}`).join('\n')
  return 'code' in it ? fenced(it.code) : table(it.head, it.rows)
}

/** A `<` outside of code would begin an element. */
const asText = (text: string) => text.replace(/(`[^`]*`)|</g, (_, code: string | undefined) => code ?? '\\<')

const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => asText(cell).replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')

function operationParts(operation: Operation): string[] {
  const { method, path, origin, summary, description, parameters, body, answers, errors, samples } = operation
  return [
    `### ${summary}`,
    `\`${method} ${path}\`${origin ? ` at \`${origin}\`` : ''}`,
    asText(description),
    ...fieldParts('Parameters', parameters),
    ...fieldParts('Body', body),
    fenced(samples.curl, 'sh'),
    ...answers.flatMap(answerParts),
    ...(errors.length > 0
      ? [`Further errors: ${errors.map((error) => `${error.status} ${error.description}`).join('; ')}.`]
      : []),
  ]
}

const fieldParts = (heading: string, fields: readonly Field[]) =>
  fields.length > 0 ? [`**${heading}**`, fieldTable(fields)] : []

const fieldTable = (fields: readonly Field[]) =>
  table(
    ['Name', 'Type', 'Description'],
    fields.map(({ name, type, required, notes, description }) => [
      `\`${name}\``,
      type,
      [[...(required ? ['required'] : []), ...notes].join('; '), description].filter(Boolean).join('. '),
    ]),
  )

function answerParts({ status, meaning, description, contentType, fields, like, headers, example }: Answer): string[] {
  return [
    `**Answer ${status}**${contentType ? ` (\`${contentType}\`)` : ''}: ${asText(meaning)}`,
    ...(description ? [asText(description)] : []),
    ...(like ? [`The fields are those of [${like.summary}](#${like.id}).`] : []),
    ...(fields.length > 0 ? [fieldTable(fields)] : []),
    ...(headers.length > 0
      ? [headers.map((header) => `- header \`${header.name}\`: ${asText(header.description)}`).join('\n')]
      : []),
    ...(example ? [fenced(example, contentType === 'application/json' ? 'json' : '')] : []),
  ]
}
