// The forms of a workflow and of an import: a file that is chosen or dropped becomes the field's text.

const field = document.querySelector('[data-file-text]')
const chooser = document.querySelector('#file')
const line = chooser.closest('p')

function say(text) {
  field.setCustomValidity(text)
  if (text) field.reportValidity()
}

/** UTF-8, or UTF-16, which its mark tells. */
function textOf(bytes) {
  const encoding = { '255 254': 'utf-16le', '254 255': 'utf-16be' }[`${bytes[0]} ${bytes[1]}`] ?? 'utf-8'
  return new TextDecoder(encoding).decode(bytes)
}

async function read(file) {
  if (!file) return
  // A folder can be dropped, too, and cannot be read.
  const bytes = file.size > Number(field.dataset.max) ? [] : await file.arrayBuffer().catch(() => [])
  field.value = textOf(new Uint8Array(bytes))
  say(field.value ? '' : `${file.name} is empty or too large: choose one of up to ${field.dataset.max} bytes.`)
}

chooser.addEventListener('change', async () => {
  await read(chooser.files[0])
  // So that the same file can be chosen again once it has been corrected.
  chooser.value = ''
})
// What is dropped beside the field would be opened in place of the page, with all that was typed.
for (const name of ['dragover', 'drop'])
  document.addEventListener(name, (event) => {
    if (event.target !== chooser && event.dataTransfer?.types.includes('Files')) event.preventDefault()
  })
field.addEventListener('input', () => say(''))
field.addEventListener('dragover', (event) => {
  event.preventDefault()
  field.classList.add('over')
})
for (const name of ['dragleave', 'drop']) field.addEventListener(name, () => field.classList.remove('over'))
field.addEventListener('drop', (event) => {
  const [file] = event.dataTransfer.files
  if (!file) return
  event.preventDefault()
  void read(file)
})
line.hidden = false

// The session may have ended while this was typed: who comes back from signing in, here or at a provider, finds it again.
const areas = [...document.querySelectorAll('textarea[name]')]
const from = document.referrer && new URL(document.referrer)
try {
  const kept = JSON.parse(sessionStorage.getItem('easel-typed'))
  sessionStorage.removeItem('easel-typed')
  const hasSignedIn = from && (from.origin !== location.origin || from.pathname.startsWith('/sign-in'))
  if (hasSignedIn && kept?.path === location.pathname && kept.account === account)
    for (const area of areas) area.value ||= kept.typed[area.name] ?? ''
} catch {} // storage is forbidden
field.form.addEventListener('submit', () => {
  const typed = Object.fromEntries(areas.map(({ name, value }) => [name, value]))
  try {
    sessionStorage.setItem('easel-typed', JSON.stringify({ path: location.pathname, account, typed }))
  } catch {}
})
