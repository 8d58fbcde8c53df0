// Keys of the gallery and of an image's page; `?` lists them. htmx does the rest.

const dialog = document.querySelector('#shortcuts')
const switchOf = document.querySelector('#letters')
const open = document.querySelector('.shortcuts-open')

// Letters can be switched off: programs for speech input type them by accident.
const showLetters = () => {
  switchOf.checked = choices.get('letters') !== 'off'
}
showLetters()
choices.watch(showLetters)
switchOf.addEventListener('change', () => choices.set('letters', switchOf.checked ? 'on' : 'off'))
open.hidden = false
open.addEventListener('click', () => dialog.showModal())
dialog.addEventListener('click', (event) => {
  if (event.target === dialog) dialog.close()
})

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
  if (!picture) return document.querySelector('a[download]')?.click()
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

const ACTS = {
  ArrowRight: () => step(1),
  ArrowLeft: () => step(-1),
  j: () => step(1),
  k: () => step(-1),
  d: download,
  r: remix,
  '?': () => dialog.showModal(),
}

document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest?.('input, textarea, select, dialog')
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key
  if (key.length === 1 && !switchOf.checked) return
  const act = ACTS[key]
  if (!act) return
  event.preventDefault()
  act()
})

// What a search found, for those who do not see it; and focus after a picture that went.
const outcome = document.querySelector('#outcome')
let next
document.addEventListener('htmx:before:swap', () => {
  const item = document.activeElement?.closest('.picture')
  next = item && (item.nextElementSibling ?? item.previousElementSibling)
})
document.addEventListener('htmx:after:swap', () => {
  if (document.activeElement === document.body) next?.querySelector('a')?.focus()
  const count = pictures().length
  if (outcome && !outcome.querySelector('.problem'))
    outcome.textContent = count === 0 ? 'Nothing found.' : `${count} ${count === 1 ? 'image' : 'images'} shown.`
})
