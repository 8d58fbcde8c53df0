// What every page does without asking the server. No framework: each behaviour is an attribute.

// What a person chose, on every page of this browser. Storage may be forbidden: then a choice holds for this page.
const ofThisPage = new Map()
window.choices = {
  get(name) {
    try {
      return localStorage.getItem(`easel-${name}`) ?? ofThisPage.get(name)
    } catch {
      return ofThisPage.get(name)
    }
  },
  set(name, value) {
    ofThisPage.set(name, value)
    try {
      localStorage.setItem(`easel-${name}`, value)
    } catch {}
  },
  /** Calls `show` when a choice may be another one: it was made in another tab, or before a step back to this page. */
  watch(show) {
    addEventListener('storage', show)
    addEventListener('pageshow', show)
  },
}

/** Copies a text; false where the browser does not let us. */
async function copied(text, button) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Without https there is no clipboard to write to, but what is selected can be copied.
    const field = document.createElement('textarea')
    field.className = 'hidden-visually'
    field.value = text
    // Beside the button: in a dialog, nothing outside of it can be selected.
    button.after(field)
    field.select()
    const isDone = document.execCommand('copy')
    field.remove()
    button.focus()
    return isDone
  }
}

// data-copy="#id" copies that element's value or text; data-copy="" what data-text holds, or else the
// figure around it shows.
document.addEventListener('click', async (event) => {
  const button = event.target.closest('[data-copy]')
  if (!button) return
  const { copy, text: given } = button.dataset
  const source = copy ? document.querySelector(copy) : button.closest('figure')?.querySelector('pre')
  const text = given ?? source.value ?? source.textContent
  if (!(await copied(text, button))) {
    // For Ctrl+C.
    if (source?.select) source.select()
    else if (source) getSelection().selectAllChildren(source)
    return
  }
  const before = button.textContent
  button.textContent = 'Copied'
  setTimeout(() => {
    button.textContent = before
  }, 1500)
})

// data-confirm="Sure?" asks once: the first press changes the button, the second one sends its form.
document.addEventListener(
  'click',
  (event) => {
    const button = event.target.closest('[data-confirm]')
    if (!button || button.dataset.asked) return
    event.preventDefault()
    event.stopPropagation()
    const before = button.textContent
    button.dataset.asked = 'yes'
    button.textContent = button.dataset.confirm
    setTimeout(() => {
      delete button.dataset.asked
      button.textContent = before
    }, 4000)
  },
  true,
)

// <time data-local>: the reader's own time zone; the server only knows UTC.
const showTimes = (root) => {
  for (const time of root.querySelectorAll('time[data-local]')) {
    const options =
      time.dataset.local === 'date' ? { dateStyle: 'medium' } : { dateStyle: 'medium', timeStyle: 'short' }
    time.textContent = new Intl.DateTimeFormat(undefined, options).format(new Date(time.dateTime))
    time.removeAttribute('data-local')
  }
}
showTimes(document)
document.addEventListener('htmx:after:swap', () => showTimes(document))
