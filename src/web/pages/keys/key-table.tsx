import { type OwnKey, shownKey } from '../../../core/accounts/api-key.js'
import { Cell } from '../../parts/page-parts.js'
import { counted, Moment } from '../../parts/text.js'
import { inPlace, Limits } from './key-limits.js'

/** The keys that an account makes for itself, and those that operators made for it. */
export const KeyTable = ({ keys, keyPrefix }: { readonly keys: readonly OwnKey[]; readonly keyPrefix: string }) => (
  <section class="scroll" tabindex={0} aria-label="Your keys">
    <table class="stacking keys">
      <thead>
        <tr>
          <th>Name</th>
          <th>Created</th>
          <th>Last used</th>
          <th class="number">Spent in 30 days</th>
          <th>
            <span class="hidden-visually">Actions</span>
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

const KeyRow = ({ of: key, prefix }: { of: OwnKey; prefix: string }) => {
  const path = `/keys/${key.id}`
  const personal = key.kind === 'personal'
  return (
    <tr>
      <td class="first">
        <b id={`name-${key.id}`}>
          <bdi>{key.name || 'Unnamed'}</bdi>
        </b>{' '}
        {!personal && <span class="badge">{key.kind}</span>}
        <br />
        <code class="quiet">{shownKey(key, prefix)}</code>
        <Limits of={key} />
      </td>
      <Cell label="Created">
        <Moment at={key.createdAt} only="date" />
      </Cell>
      <Cell label="Last used">{key.lastUsedAt ? <Moment at={key.lastUsedAt} /> : 'Never used'}</Cell>
      <Cell label="Spent in 30 days" class="number">
        {key.kind === 'developer' ? 'Metered' : counted(key.spent, 'credit')}
      </Cell>
      <td class="actions">
        <div class="row">
          {personal && (
            <details>
              <summary aria-describedby={`name-${key.id}`}>Rename</summary>
              <form method="post" action={`${path}/rename`} class="beside" {...inPlace(`${path}/rename`)}>
                <label class="hidden-visually" for={`new-${key.id}`}>
                  New name
                </label>
                <input id={`new-${key.id}`} name="name" value={key.name} autocomplete="off" required />
                <button class="small" type="submit">
                  Save
                </button>
              </form>
            </details>
          )}
          {personal && (
            <a href={`/keys?limits=${key.id}#limits`} aria-describedby={`name-${key.id}`}>
              Limits
            </a>
          )}
          <form method="post" action={`${path}/revoke`} {...inPlace(`${path}/revoke`)}>
            <button
              class="small danger"
              type="submit"
              data-confirm="Revoke for good?"
              aria-describedby={`name-${key.id}`}
            >
              Revoke
            </button>
          </form>
        </div>
      </td>
    </tr>
  )
}
