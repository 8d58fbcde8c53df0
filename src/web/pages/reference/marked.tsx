import type { ComponentChildren } from 'preact'
import type { Block } from './prose.js'

export const BlockPart = ({ block, label }: { block: Block; label: string }) => {
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
export const Marked = ({ children }: { children: string }): ComponentChildren =>
  children.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\))/).map((part) => {
    if (/^`.+`$/.test(part)) return <code>{part.slice(1, -1)}</code>
    if (part.startsWith('**')) return <strong>{part.slice(2, -2)}</strong>
    const [, name, href] = /^\[(.+)\]\((.+)\)$/.exec(part) ?? []
    return href ? <a href={href}>{name}</a> : part
  })
