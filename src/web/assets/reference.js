for (const caption of document.querySelectorAll('figure[class] > figcaption')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'plain'
  button.dataset.copy = ''
  button.textContent = 'Copy'
  caption.append(button)
}

// The samples' language is remembered in this browser, and the contents mark what is being read.
const languages = document.querySelector('.languages')
try {
  const remembered = localStorage.getItem('easel-language')
  const found = remembered && languages.querySelector(`input[value="${CSS.escape(remembered)}"]`)
  if (found) found.checked = true
} catch {
  // Storage may be forbidden; the choice then holds for this page.
}
languages.addEventListener('change', ({ target }) => {
  try {
    localStorage.setItem('easel-language', target.value)
  } catch {}
})

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
