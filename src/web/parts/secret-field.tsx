/** A secret that is shown once, to be copied. */
export const SecretField = ({ id, label, value }: { id: string; label: string; value: string }) => (
  <div class="field">
    <label for={id}>{label}</label>
    <div class="beside">
      <input id={id} class="mono" value={value} readonly autofocus autocomplete="off" spellcheck={false} />
      <button class="primary" type="button" data-copy={`#${id}`}>
        Copy
      </button>
    </div>
  </div>
)
