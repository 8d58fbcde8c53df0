import { type OwnKey, shownKey } from '../../../core/accounts/api-key.js'
import { Cell } from '../../parts/page-parts.js'
import { Moment } from '../../parts/text.js'
import { useTexts } from '../../texts/texts.js'
import { inPlace, Limits } from './key-limits.js'

/** The keys that an account makes for itself, and those that operators made for it. */
export const KeyTable = ({ keys, keyPrefix }: { readonly keys: readonly OwnKey[]; readonly keyPrefix: string }) => {
  const { yours, table: words } = useTexts().keys
  return (
    <section class="scroll" tabindex={0} aria-label={yours}>
      <table class="stacking keys">
        <thead>
          <tr>
            <th>{words.name}</th>
            <th>{words.created}</th>
            <th>{words.lastUsed}</th>
            <th class="number">{words.spent}</th>
            <th>
              <span class="hidden-visually">{words.actions}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <KeyRow key={key.id} of={key} prefix={keyPrefix} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

const KeyRow = ({ of: key, prefix }: { of: OwnKey; prefix: string }) => {
  const path = `/keys/${key.id}`
  const personal = key.kind === 'personal'
  const { keys, credits } = useTexts()
  const { table: words } = keys
  return (
    <tr>
      <td class="first">
        <b id={`name-${key.id}`}>
          <bdi>{key.name || words.unnamed}</bdi>
        </b>{' '}
        {!personal && <span class="badge">{words.kinds[key.kind]}</span>}
        <br />
        <code class="quiet">{shownKey(key, prefix)}</code>
        <Limits of={key} />
      </td>
      <Cell label={words.created}>
        <Moment at={key.createdAt} only="date" />
      </Cell>
      <Cell label={words.lastUsed}>{key.lastUsedAt ? <Moment at={key.lastUsedAt} /> : words.neverUsed}</Cell>
      <Cell label={words.spent} class="number">
        {key.kind === 'developer' ? words.metered : credits(key.spent)}
      </Cell>
      <td class="actions">
        <div class="row">
          {personal && (
            <details>
              <summary aria-describedby={`name-${key.id}`}>{words.rename}</summary>
              <form method="post" action={`${path}/rename`} class="beside" {...inPlace(`${path}/rename`)}>
                <label class="hidden-visually" for={`new-${key.id}`}>
                  {words.newName}
                </label>
                <input id={`new-${key.id}`} name="name" value={key.name} autocomplete="off" required />
                <button class="small" type="submit">
                  {words.save}
                </button>
              </form>
            </details>
          )}
          {personal && (
            <a href={`/keys?limits=${key.id}#limits`} aria-describedby={`name-${key.id}`}>
              {keys.limits.title}
            </a>
          )}
          <form method="post" action={`${path}/revoke`} {...inPlace(`${path}/revoke`)}>
            <button class="small danger" type="submit" data-confirm={words.confirm} aria-describedby={`name-${key.id}`}>
              {words.revoke}
            </button>
          </form>
        </div>
      </td>
    </tr>
  )
}
