for (const caption of document.querySelectorAll('figure[class] > figcaption')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'plain'
  button.dataset.copy = ''
  button.textContent = texts.copy
  caption.append(button)
}

// The samples' language is that of the playground, too.
const languages = document.querySelector('.languages')
const showLanguage = () => {
  const chosen = choices.get('language')
  for (const input of languages.querySelectorAll('input')) if (input.value === chosen) input.checked = true
}
if (languages) {
  // What was pressed before this script came holds; after a step back it is the browser that has chosen.
  const pressed = languages.querySelector('input:checked')
  const [arrival] = performance.getEntriesByType('navigation')
  if (pressed && !pressed.defaultChecked && arrival?.type !== 'back_forward') choices.set('language', pressed.value)
  showLanguage()
  choices.watch(showLanguage)
  languages.addEventListener('change', ({ target }) => choices.set('language', target.value))
}

// The contents mark what is being read.
const contents = document.querySelector('.contents nav')
const links = new Map([...contents.querySelectorAll('a')].map((link) => [link.hash.slice(1), link]))
const seen = new IntersectionObserver(
  (entries) => {
    const top = entries.find(({ isIntersecting }) => isIntersecting)
    const link = links.get(top?.target.querySelector('h2, h3')?.id)
    if (!link) return
    for (const other of links.values()) other.removeAttribute('aria-current')
    link.setAttribute('aria-current', 'true')
    contents.scrollTop = link.offsetTop - contents.clientHeight / 2
  },
  { rootMargin: '-15% 0px -80%' },
)
for (const section of document.querySelectorAll('.pages > section')) seen.observe(section)
