// What every page does without asking the server. No framework: each behaviour is an attribute.

// data-copy="#id" copies that element's value or text; data-copy="" what data-text holds, or else the
// figure around it shows.
document.addEventListener('click', async (event) => {
  const button = event.target.closest('[data-copy]')
  if (!button) return
  const { copy, text: given } = button.dataset
  const source = copy ? document.querySelector(copy) : button.closest('figure')?.querySelector('pre')
  const text = given ?? source.value ?? source.textContent
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    // Without https there is no clipboard to write to: select it, so that Ctrl+C does.
    source?.select?.()
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
