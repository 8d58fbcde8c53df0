// Keys, selection and the place in the gallery; keys of an image's page; the slider that compares two. `?` lists the keys.

// Where the left image ends.
const divider = document.querySelector('#divider')
const divide = () => divider?.parentElement.style.setProperty('--at', `${divider.value}%`)
divider?.addEventListener('input', divide)
// It may have been moved before this script came; browsers also keep where it was.
divide()
addEventListener('pageshow', divide)

const dialog = document.querySelector('#shortcuts')
const switchOf = document.querySelector('#letters')
const open = document.querySelector('.shortcuts-open')

// Letters can be switched off: programs for speech input type them by accident.
const showLetters = () => {
  switchOf.checked = choices.get('letters') !== 'off'
}
if (dialog) {
  showLetters()
  choices.watch(showLetters)
  switchOf.addEventListener('change', () => choices.set('letters', switchOf.checked ? 'on' : 'off'))
  open.hidden = false
  open.addEventListener('click', () => dialog.showModal())
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close()
  })
}

const pictures = () => [...document.querySelectorAll('.picture > a')]
const current = () => document.activeElement?.closest('.picture')?.querySelector('a')

const step = (by) => {
  // On an image's page there are links to its neighbours.
  const neighbour = document.querySelector(by > 0 ? 'a[rel=next]' : 'a[rel=prev]')
  if (neighbour) return neighbour.click()
  const all = pictures()
  const at = all.indexOf(current())
  const to = all[at < 0 ? 0 : at + by]
  to?.focus()
  to?.scrollIntoView({ block: 'nearest' })
}

const download = () => {
  const picture = current()
  if (!picture) return document.querySelector('a[data-download], a[download]')?.click()
  const link = document.createElement('a')
  link.href = picture.dataset.file
  link.download = ''
  link.click()
}

const remix = () => {
  const picture = current()
  const link = document.querySelector('a[data-remix]')
  if (picture) location.assign(`/playground?from=${picture.pathname.split('/').pop()}`)
  else link?.click()
}

const press = (selector) => (current()?.closest('.picture') ?? document).querySelector(selector)?.click()

const ACTS = {
  ArrowRight: () => step(1),
  ArrowLeft: () => step(-1),
  j: () => step(1),
  k: () => step(-1),
  d: download,
  r: remix,
  f: () => press('.star'),
  x: (event) => select(current(), event.shiftKey),
  a: () => selectAll(true),
  Escape: () => selectAll(false),
  Delete: () => (selected.length === 0 ? undefined : document.querySelector('[name=act][value=delete]')?.click()),
  '?': () => dialog.showModal(),
}

document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest?.('input:not([type=checkbox]), textarea, select, dialog')
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return
  // Where the keyboard has other letters than Latin ones: by the place of the key.
  const isForeign = /^[^\p{ASCII}]$/u.test(event.key) && event.code.startsWith('Key')
  const letter = isForeign ? event.code.slice(-1) : event.key
  const key = letter.length === 1 ? letter.toLowerCase() : letter
  if (!dialog || (key.length === 1 && !switchOf.checked)) return
  const act = ACTS[key]
  if (!act) return
  event.preventDefault()
  act(event)
})

// A menu closes with Escape, and with a press elsewhere.
const menu = () => document.querySelector('.drop-down[open]')
document.addEventListener('click', ({ target }) => {
  if (!target.closest('.drop-down')) menu()?.removeAttribute('open')
})
document.addEventListener(
  'keydown',
  (event) => {
    const opened = event.key === 'Escape' && menu()
    if (!opened) return
    event.stopPropagation()
    opened.open = false
    opened.querySelector('summary').focus()
  },
  true,
)

// On a phone the folders are one line, which may be longer than the page: the open one is in view.
const showOpenFolder = () => {
  const folders = document.querySelector('#folders')
  const opened = folders?.querySelector('[aria-current]')
  if (opened) folders.scrollLeft = opened.offsetLeft - (folders.clientWidth - opened.offsetWidth) / 2
}
showOpenFolder()
document.addEventListener('htmx:after:swap', showOpenFolder)

// What a search found, for those who do not see it; and focus after a picture that went.
const outcome = document.querySelector('#outcome')
let next
document.addEventListener('htmx:before:swap', () => {
  const item = document.activeElement?.closest('.picture')
  next = item && (item.nextElementSibling ?? item.previousElementSibling)
})
document.addEventListener('htmx:after:swap', (event) => {
  if (document.activeElement === document.body) next?.querySelector('a')?.focus()
  const count = pictures().length
  if (event.detail.ctx.sourceElement.matches('.filters, .more'))
    outcome.textContent = count === 0 ? texts.nothingFound : counted(texts.shown, count)
})

// Selection: boxes that are ticked, one after the other or, with Shift, all between two.
const form = document.querySelector('#selection')
const boxes = () => [...document.querySelectorAll('.picture input[name=slug]')]
let selected = []
let lastBox
const showSelected = () => {
  if (!form) return
  selected = boxes().filter((box) => box.checked)
  form.querySelector('.count').textContent = counted(texts.selected, selected.length)
  document.querySelector('[value=compare]').disabled = selected.length !== 2
}
const selectTo = (box, isRange) => {
  const all = boxes()
  const [from, to] = [all.indexOf(lastBox), all.indexOf(box)].sort((a, b) => a - b)
  if (isRange && from >= 0) for (const each of all.slice(from, to + 1)) each.checked = box.checked
  lastBox = box
  showSelected()
}
const select = (picture, isRange) => {
  const box = picture?.closest('.picture').querySelector('input[name=slug]')
  if (!box) return
  box.checked = !box.checked
  selectTo(box, isRange)
}
const selectAll = (checked) => {
  for (const box of boxes()) box.checked = checked
  showSelected()
}

if (form) {
  form.addEventListener('click', (event) => {
    if (event.target.name === 'slug') selectTo(event.target, event.shiftKey)
  })
  form.querySelector('.all').addEventListener('click', () => selectAll(true))
  form.addEventListener('reset', (event) => {
    event.preventDefault()
    selectAll(false)
  })
  // A file or another page is the answer: nothing here changes.
  form.addEventListener(
    'submit',
    (event) => event.submitter?.matches('[data-plain]') && event.stopImmediatePropagation(),
    true,
  )
  document.addEventListener('htmx:after:swap', (event) => {
    if (event.detail.ctx.sourceElement === form && document.querySelector('#outcome .done')) {
      selectAll(false)
      // Who has all the folders there may be has no such field.
      const name = form.querySelector('[name=name]')
      if (name) name.value = ''
    }
    showSelected()
  })
  // After a finger stayed on a picture, further ones are selected by a touch.
  let holding
  let held = false
  form.addEventListener('pointerdown', (event) => {
    const picture = event.target.closest('.picture > a')
    held = false
    clearTimeout(holding)
    if (event.pointerType === 'mouse' || !picture) return
    holding = setTimeout(() => {
      held = true
      select(picture, false)
    }, 500)
  })
  for (const end of ['pointerup', 'pointercancel', 'pointermove']) {
    form.addEventListener(end, (event) => {
      if (end !== 'pointermove' || Math.abs(event.movementX) + Math.abs(event.movementY) > 4) clearTimeout(holding)
    })
  }
  form.addEventListener('contextmenu', (event) => held && event.preventDefault())
  form.addEventListener(
    'click',
    (event) => {
      const picture = event.target.closest('.picture > a')
      if (!picture || event.pointerType === 'mouse' || event.detail === 0 || (!held && selected.length === 0)) return
      event.preventDefault()
      if (!held) select(picture, false)
      held = false
    },
    true,
  )
  // Browsers tick again what was ticked.
  addEventListener('pageshow', showSelected)
}

// The size of the pictures, which a person chose.
const sizes = document.querySelector('#sizes')
if (sizes) {
  const showSize = () => {
    const size = choices.get('pictures') ?? 'medium'
    document.querySelector('main').dataset.pictures = size
    sizes.querySelector(`[value=${size}]`).checked = true
    sharpen()
  }
  // A large picture needs the whole file on a sharp screen.
  const sharpen = () => {
    const scale = choices.get('pictures') === 'large' ? 2 : 1
    for (const image of document.querySelectorAll('.picture img[sizes]')) {
      image.dataset.small ??= image.sizes
      image.sizes = `${Number.parseInt(image.dataset.small, 10) * scale}px`
    }
  }
  sizes.hidden = false
  sizes.addEventListener('change', (event) => {
    choices.set('pictures', event.target.value)
    showSize()
  })
  choices.watch(showSize)
  document.addEventListener('htmx:after:swap', sharpen)
  showSize()
}

// The place in a long gallery, for who comes back to it: how many pictures there were, where the page stood, and which picture
// had the focus.
const place = history.state?.place
if (form) {
  history.scrollRestoration = 'manual'
  addEventListener('pagehide', () => {
    history.replaceState(
      { ...history.state, place: { count: pictures().length, top: scrollY, at: current()?.href } },
      '',
    )
  })
}
const goBack = async () => {
  // In steps: a server that writes thousands at once keeps others waiting.
  for (let missing = place.count - pictures().length; missing > 0; missing = place.count - pictures().length) {
    const more = document.querySelector('.more > a')
    const answer =
      more && (await fetch(`${more.href}&count=${Math.min(missing, 200)}`, { headers: { 'hx-request': 'true' } }))
    if (!answer?.ok) break
    const item = more.parentElement
    item.insertAdjacentHTML('beforebegin', await answer.text())
    htmx.process(item.parentElement)
    item.remove()
    showSelected()
  }
  scrollTo(0, place.top)
  pictures()
    .find(({ href }) => href === place.at)
    ?.focus({ preventScroll: true })
}
const [arrival] = performance.getEntriesByType('navigation')
if (form && place && arrival?.type !== 'navigate') void goBack()
