// What every page does without asking the server. No framework: each behaviour is an attribute.

// What the page's scripts say, in its language. `#` stands for a number.
window.texts = JSON.parse(document.body.dataset.texts)
const { lang } = document.documentElement
// Some systems name what is no language to a browser, such as en-US@posix.
const locale = navigator.languages.find((it) => /^[a-z]+(-[a-z0-9]+)*$/i.test(it) && it.split('-')[0] === lang) ?? lang
const plurals = new Intl.PluralRules(lang)
window.counted = (forms, count) =>
  (forms[plurals.select(count)] ?? forms.other).replace('#', count.toLocaleString(locale))

// What a person chose, for all pages. Where storage is forbidden, a choice holds for its page.
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
  // A choice may be made in another tab, or before a step back to this page.
  watch(show) {
    addEventListener('storage', show)
    addEventListener('pageshow', show)
  },
}

document.querySelector('#no-cookies')?.toggleAttribute('hidden', navigator.cookieEnabled)

async function copied(text, button) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Without https there is no clipboard. Beside the button: a dialog makes all outside of it inert.
    const field = document.createElement('textarea')
    field.className = 'hidden-visually'
    field.value = text
    button.after(field)
    field.select()
    const done = document.execCommand('copy')
    field.remove()
    button.focus()
    return done
  }
}

// Browsers that translate a page would spoil what is copied.
for (const code of document.querySelectorAll('pre')) code.translate = false

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
    if (source) getSelection().selectAllChildren(source)
    source?.select?.()
    return
  }
  // Of the first of several presses.
  const before = button.dataset.before ?? button.textContent
  button.dataset.before = before
  button.textContent = texts.copied
  setTimeout(() => {
    button.textContent = before
    delete button.dataset.before
  }, 1500)
})

// data-confirm="Sure?" asks once: the first press changes the button, the second one sends its form.
document.addEventListener(
  'click',
  (event) => {
    const button = event.target.closest('[data-confirm]')
    // A double click is one press.
    if (!button || (button.dataset.asked && event.detail < 2)) return
    event.preventDefault()
    event.stopPropagation()
    if (button.dataset.asked) return
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

// So is a key that is held down, which browsers turn into click after click.
document.addEventListener('keydown', (event) => {
  if (event.repeat && event.key === 'Enter' && event.target.closest('button, summary')) event.preventDefault()
})

// <time data-local>: the reader's own time zone; the server only knows UTC.
const showTimes = (root) => {
  for (const time of root.querySelectorAll('time[data-local]')) {
    const options =
      time.dataset.local === 'date' ? { dateStyle: 'medium' } : { dateStyle: 'medium', timeStyle: 'short' }
    time.textContent = new Intl.DateTimeFormat(locale, options).format(new Date(time.dateTime))
    time.removeAttribute('data-local')
  }
}
showTimes(document)
document.addEventListener('htmx:after:swap', () => showTimes(document))

// Whose page this is. Another tab may have signed in somebody else since: the server then refuses what is sent from here.
const { account } = document.body.dataset
document.addEventListener('formdata', ({ target, formData }) => {
  if (account && target.getAttribute('method') === 'post') formData.set('page_account', account)
})
