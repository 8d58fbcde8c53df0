interface ShortcutHelpProps {
  /** Of each act, its keys and what it does. */
  readonly keys: readonly (readonly [keys: readonly string[], act: string])[]
}

/** A button, and the dialog that it and `?` open: the page's keys, and a switch for who has letters do other things. */
export const ShortcutHelp = ({ keys }: ShortcutHelpProps) => (
  <>
    <button class="plain small shortcuts-open" type="button" hidden>
      <kbd>?</kbd> Keyboard shortcuts
    </button>
    <dialog id="shortcuts" class="card" aria-labelledby="shortcuts-title">
      <form class="stack" method="dialog">
        <h2 id="shortcuts-title">Keyboard shortcuts</h2>
        <dl class="facts">
          {[...keys, [['?'], 'These keys'] as const].map(([names, act]) => (
            <div>
              <dt>{act}</dt>
              <dd>
                {names.map((name) => (
                  <>
                    <kbd>{name}</kbd>{' '}
                  </>
                ))}
              </dd>
            </div>
          ))}
        </dl>
        <label class="row">
          <input type="checkbox" id="letters" checked /> Letters are shortcuts
        </label>
        <button type="submit" autofocus>
          Close
        </button>
      </form>
    </dialog>
  </>
)
