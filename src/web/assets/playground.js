// The playground: what the form costs, the counter, the keys, and the same request as code.

const form = document.querySelector('#create')
const prompt = form.elements.prompt
const stage = document.querySelector('#stage')
const code = document.querySelector('#code')
const codeText = document.querySelector('#code-text')
let language = 'curl'

// ---- The form -----------------------------------------------------------------------------------------------------

const isRunning = () => document.querySelector('#generate').dataset.running !== undefined
/** Whether what is pressed is drawn now, not lined up. */
const drawsNow = () => document.querySelector('#generate').value === 'now'

const usual = JSON.parse(form.dataset.facts)
/** What web/pages/playground/model-facts.ts says of the chosen model. */
let facts = usual

/** Which fields, shapes and counts the chosen model takes, and what it draws without them. */
function showModel() {
  const { elements } = form
  const chosen = form.querySelector('[name=model_version_id]:checked')
  facts = { ...usual, ...JSON.parse(chosen?.dataset.facts ?? '{}') }
  const { own, limits, hints, ignored, sizes, note } = facts
  for (const [name, hint] of Object.entries(hints)) {
    const field = elements[name]
    field.disabled = ignored.includes(name)
    Object.assign(field, limits[name])
    if (field.options) field.options[0].textContent = hint
    else field.placeholder = hint
  }
  offer('shape', (size) => size === '' || size === 'custom' || sizes.includes(size), '')
  for (const name of ['width', 'height'])
    Object.assign(elements[name], { ...limits[name], placeholder: `${own[name]}` })
  const { min, max } = limits.batch_size
  offer('batch_size', (count) => Number(count) >= min && Number(count) <= max, `${own.batch_size}`)
  document.querySelector('#own-size').textContent = `${own.width}×${own.height}`
  const line = document.querySelector('#note')
  line.textContent = note
  line.hidden = note === ''
}

/** Hides the choices that the model does not take, and chooses another one for such a one. */
function offer(name, isTaken, other) {
  const radios = [...form.querySelectorAll(`[name=${name}]`)]
  for (const radio of radios) {
    radio.disabled = !isTaken(radio.value)
    radio.closest('.choice').hidden = radio.disabled
  }
  const isLost = radios.some(({ checked, disabled }) => checked && disabled)
  const next = isLost && (radios.find(({ value }) => value === other) ?? radios.find(({ disabled }) => !disabled))
  if (next) next.checked = true
}

/** Width and height of the chosen shape, or as they are typed; undefined: the model's own. */
function sizeOf({ shape, width, height }) {
  if (shape.value === '') return []
  if (shape.value !== 'custom') return shape.value.split('x').map(Number)
  return [width, height].map(({ value }) => (value.trim() === '' ? undefined : Number(value)))
}

/** As core/catalog/price.ts prices it; the server charges by that. */
function costOf({ price: { image, megapixel, step, minimum }, own, ignored }, elements) {
  const { steps, batch_size } = elements
  const [width = own.width, height = own.height] = sizeOf(elements)
  const drawn = ignored.includes('steps') || steps.value.trim() === '' ? own.steps : Number(steps.value)
  const extra = (megapixel * width * height) / 1e6 + step * drawn
  // Rates have four decimals: what is below the tenth is the error of floating point.
  return Math.max(image + Math.ceil(Number(extra.toFixed(10))), minimum) * Number(batch_size.value)
}

function showCost() {
  // Where no model is on offer, there is nothing to choose from.
  const isChosen = Boolean(form.elements.model_version_id?.value)
  const cost = isChosen ? costOf(facts, form.elements) : Number.NaN
  const button = document.querySelector('#generate')
  const known = Number.isFinite(cost)
  document.querySelector('#cost').textContent = known ? `· ${counted(texts.credits, cost)}` : ''
  document.querySelector('#too-dear').hidden = !drawsNow() || !known || cost <= Number(button.dataset.held)
}

function showCount() {
  const count = document.querySelector('#count')
  // Code points, as the server counts them.
  const length = [...prompt.value].length
  count.textContent = `${length} / ${count.dataset.max}`
  count.classList.toggle('bad', length > Number(count.dataset.max))
}

/** Everything that follows from the form. */
function show() {
  showModel()
  showCost()
  showCount()
  codeText.textContent = sampleOf(requestOf(form))
  lastSize = sidesShown()
}

function fill(field, value) {
  field.value = value
  const details = field.closest('details')
  if (details) details.open = true
  field.focus()
  // For htmx, which asks moderation.
  field.dispatchEvent(new Event('input', { bubbles: true }))
}

// ---- The models -------------------------------------------------------------------------------------------------------

// There are many: those whose words match stay in view.
const words = document.querySelector('#model-words')
words?.addEventListener('input', (event) => {
  // Nothing of the form has changed.
  event.stopPropagation()
  const wanted = words.value.toLowerCase().split(/\s+/)
  let found = 0
  for (const card of form.querySelectorAll('.models .choice')) {
    const text = card.textContent.toLowerCase()
    const matches = wanted.every((word) => text.includes(word))
    card.hidden = !matches
    found += Number(matches)
  }
  document.querySelector('#model-none').textContent = found > 0 ? '' : texts.noModel
})
words?.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey) event.preventDefault()
})
if (words) words.parentElement.hidden = false

// ---- A size of one's own --------------------------------------------------------------------------------------------

const sides = [form.elements.width, form.elements.height]
const keepsRatio = document.querySelector('#keep-ratio')
// Width / height while it is kept.
let ratio = 1
let lastSize

// What is drawn as the form is: a blank side is the model's own.
function sidesShown() {
  const [width = facts.own.width, height = facts.own.height] = sizeOf(form.elements)
  return [width, height]
}

// The nearest value that the field takes.
function fitting({ min, max, step }, value) {
  return Math.min(Math.max(Math.round(value / Number(step)) * Number(step), Number(min)), Number(max))
}

function setSides(values) {
  for (const [n, side] of sides.entries()) side.value = `${values[n]}`
}

form.addEventListener('input', ({ target }) => {
  const { width, height, shape } = form.elements
  // The size of one's own begins with the one that was chosen before.
  if (target.name === 'shape' && shape.value === 'custom' && sides.every(({ value }) => value === ''))
    setSides(lastSize)
  if (keepsRatio.checked && target === width && Number(width.value) > 0)
    height.value = fitting(height, Number(width.value) / ratio)
  if (keepsRatio.checked && target === height && Number(height.value) > 0)
    width.value = fitting(width, Number(height.value) * ratio)
})
keepsRatio.addEventListener('change', () => {
  const [width, height] = sidesShown()
  ratio = width > 0 && height > 0 ? width / height : 1
})
document.querySelector('#swap').addEventListener('click', () => {
  const [width, height] = sidesShown()
  ratio = 1 / ratio
  setSides([height, width])
  form.dispatchEvent(new Event('input'))
})
document.querySelector('#sides').hidden = false

// ---- Code ---------------------------------------------------------------------------------------------------------

/** The API's request: what is required, and what differs from the chosen model's own. */
function requestOf({ elements }) {
  const [width, height] = sizeOf(elements)
  const text = ({ value, disabled } = { value: '' }) => (disabled || value.trim() === '' ? undefined : value)
  const number = (field) => text(field) && Number(field.value)
  const asked = {
    negative_prompt: text(elements.negative_prompt),
    width,
    height,
    batch_size: number(elements.batch_size),
    steps: number(elements.steps),
    cfg_scale: number(elements.cfg_scale),
    sampler: text(elements.sampler),
    seed: number(elements.seed),
  }
  const differs = ([name, value]) => value !== undefined && value !== facts.own[name]
  return {
    prompt: prompt.value,
    model_version_id: number(elements.model_version_id),
    ...Object.fromEntries(Object.entries(asked).filter(differs)),
  }
}

/** Written by web/parts/samples.ts, with a mark where the request belongs. */
const samples = JSON.parse(code.dataset.samples)

function sampleOf(request) {
  const json = JSON.stringify(request, null, 2)
  // In single quotes a shell changes nothing; a quote itself is written outside of them.
  return samples[language].replace('{request}', () => (language === 'curl' ? json.replaceAll("'", "'\\''") : json))
}

const tabs = [...code.querySelectorAll('[role=tab]')]

/** The language that was chosen here or in the reference. */
function showLanguage() {
  const tab = tabs.find(({ dataset }) => dataset.language === choices.get('language')) ?? tabs[0]
  language = tab.dataset.language
  for (const other of tabs) {
    other.ariaSelected = String(other === tab)
    other.tabIndex = other === tab ? 0 : -1
  }
  document.querySelector('#code-panel').setAttribute('aria-labelledby', tab.id)
  show()
}

function choose(tab) {
  choices.set('language', tab.dataset.language)
  showLanguage()
}

code.addEventListener('click', ({ target }) => {
  if (tabs.includes(target)) choose(target)
})
code.addEventListener('keydown', (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
  const at = tabs.indexOf(event.target)
  if (!step || at < 0) return
  event.preventDefault()
  const next = tabs[(at + step + tabs.length) % tabs.length]
  choose(next)
  next.focus()
})

// ---- Keys and clicks ----------------------------------------------------------------------------------------------

form.addEventListener('input', show)
document.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault()
    // A key that is held down presses once.
    if (!event.repeat) form.requestSubmit(document.querySelector('#generate'))
  }
  const typing = event.target.closest('input:not([type=radio]), textarea, select, [contenteditable]')
  if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  prompt.focus()
})

/** What sent a form last, until the next press. */
let pressed
for (const kind of ['pointerdown', 'keydown']) document.addEventListener(kind, () => (pressed = undefined), true)
/** The form as it was sent last, and when. */
let sent = { at: 0, text: '' }
// Before htmx: the second press of a double click would line up what the first one had drawn.
document.addEventListener(
  'submit',
  (event) => {
    const { submitter, target, timeStamp: at } = event
    pressed = submitter && { id: submitter.id, value: submitter.value }
    if (target !== form) return
    // The answer is a whole page, with the form filled.
    if (submitter?.value === 'apply') return event.stopImmediatePropagation()
    // A browser sends what it cannot read as a number as if nothing was typed.
    const isAsked = (field) => field.willValidate && (form.elements.shape.value === 'custom' || !sides.includes(field))
    const unread = [...form.elements].find((field) => isAsked(field) && field.validity.badInput)
    if (unread) {
      unread.closest('details')?.setAttribute('open', '')
      unread.reportValidity()
      event.preventDefault()
      return event.stopImmediatePropagation()
    }
    const text = new URLSearchParams(new FormData(form)).toString()
    if (submitter?.value === 'up-next' && text === sent.text && at - sent.at < 1000) {
      event.preventDefault()
      event.stopImmediatePropagation()
    } else sent = { at, text }
  },
  true,
)

// The button Cancel goes away with what it cancels.
stage.addEventListener('submit', () => stage.focus())
stage.addEventListener('click', (event) => {
  const link = event.target.closest('[data-prompt], [data-seed]')
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  if (link.dataset.prompt) fill(prompt, link.dataset.prompt)
  else fill(form.elements.seed, link.dataset.seed)
})

document.addEventListener('htmx:after:swap', ({ target }) => {
  show()
  // What moved within its list, or changed its name, keeps the focus.
  if (pressed?.id && document.activeElement === document.body) document.getElementById(pressed.id)?.focus()
  if (pressed?.value === 'save-settings') document.querySelector('#settings-name')?.focus()
  // On a phone it is below the form.
  const isBegun = target === form && pressed?.value === 'now' && isRunning()
  if (isBegun && stage.getBoundingClientRect().top > innerHeight / 2) stage.scrollIntoView()
  const wrong = document.querySelector('#problem [data-field]')
  if (!wrong) return
  const field = form.elements[wrong.dataset.field]
  delete wrong.dataset.field
  // Not the radio buttons, which have nothing to correct.
  if (field instanceof HTMLElement) {
    const details = field.closest('details')
    if (details) details.open = true
    field.ariaInvalid = 'true'
    field.focus({ preventScroll: true })
  }
  wrong.scrollIntoView({ block: 'nearest' })
})
form.addEventListener('input', ({ target }) => {
  if (!target.ariaInvalid) return
  target.removeAttribute('aria-invalid')
  document.querySelector('#problem').replaceChildren()
})

// ---- The end of the session ---------------------------------------------------------------------------------------

// The session has ended: the page leads to where one signs in.
stage.addEventListener('signed-out', () => location.reload())
document.addEventListener('htmx:sse:error', ({ detail }) => {
  if (detail.status === 401) location.reload()
})

// ---- The draft ----------------------------------------------------------------------------------------------------

const draft = `draft-${form.dataset.draft}`
const isEditing = form.dataset.editing !== undefined
function keepDraft() {
  if (isEditing) return
  const { settings: _, ...kept } = Object.fromEntries(new FormData(form))
  choices.set(draft, JSON.stringify(kept))
}

function tick(name, value) {
  for (const radio of form.querySelectorAll(`[name=${name}]`))
    if (radio.value === value && !radio.disabled) radio.checked = true
}

/** Whether somebody was quicker than this script, which a slow network brings late. */
const isChanged = ({ type, value, defaultValue, checked, defaultChecked, selectedOptions }) => {
  if (selectedOptions) return !selectedOptions[0].defaultSelected
  return type === 'radio' ? checked !== defaultChecked : value !== defaultValue
}
// After a step back it is the browser that has filled the form, as it was then.
const [arrival] = performance.getEntriesByType('navigation')
const fields = arrival?.type === 'back_forward' ? [] : [...form.querySelectorAll('input, textarea, select')]
const changed = new Set(fields.filter(isChanged).map(({ name }) => name))

/** What was typed here before, in any tab. A choice that is no longer on offer is left out, and what is newer stays. */
function showDraft() {
  let kept
  try {
    kept = JSON.parse(choices.get(draft))
  } catch {
    return
  }
  if (!kept) return
  for (const [name, value] of Object.entries(kept)) {
    if (changed.has(name)) continue
    const field = form.elements[name]
    if (field instanceof HTMLElement) field.value = value
    else tick(name, value)
  }
  delete prompt.dataset.example
  document.querySelector('#tuning').open ||= ['steps', 'cfg_scale', 'sampler', 'seed'].some((name) => kept[name])
  form.elements.negative_prompt.closest('details').open ||= Boolean(kept.negative_prompt)
}

form.addEventListener('input', keepDraft)
const reset = document.querySelector('#reset')
reset.hidden = false
reset.addEventListener('click', () => {
  for (const name of ['negative_prompt', 'width', 'height', 'steps', 'cfg_scale', 'sampler', 'seed'])
    form.elements[name].value = ''
  tick('shape', '')
  tick('batch_size', `${facts.own.batch_size}`)
  keepDraft()
  show()
})

// ---- The stage ----------------------------------------------------------------------------------------------------

// A result of the strip, on the stage; while one is drawn, its own page.
document.querySelector('#strip').addEventListener('click', (event) => {
  const link = event.target.closest('[data-show]')
  if (!link || isRunning() || event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  htmx.ajax('GET', link.dataset.show, { target: '#stage', swap: 'innerHTML' })
  stage.scrollIntoView({ block: 'nearest' })
})

// A picture, as large as the window, or in its own pixels; the arrows lead to the others of the stage.
const box = document.createElement('dialog')
box.className = 'lightbox'
box.ariaLabel = texts.image
box.innerHTML = `<button type="button" class="small close" autofocus></button><div><img alt=""></div>
<nav class="row"><button type="button" data-by="-1">←</button><output></output>
<button type="button" data-by="1">→</button></nav>`
box.querySelector('.close').textContent = texts.close
for (const button of box.querySelectorAll('[data-by]')) {
  button.ariaLabel = button.dataset.by === '1' ? texts.next : texts.previous
  button.addEventListener('click', () => turn(Number(button.dataset.by)))
}
document.body.append(box)
const large = box.querySelector('img')
let pictures = []
function enlarge(picture) {
  large.src = picture.dataset.large
  large.alt = picture.querySelector('img').alt
  const at = pictures.indexOf(picture)
  large.dataset.at = String(at)
  box.querySelector('nav').hidden = pictures.length < 2
  box.querySelector('output').textContent = `${at + 1} ${texts.of} ${pictures.length}`
  box.classList.remove('real')
}
function turn(by) {
  // The arrows may be pressed before any picture was.
  if (pictures.length > 0) enlarge(pictures[(Number(large.dataset.at) + by + pictures.length) % pictures.length])
}
stage.addEventListener('click', (event) => {
  const picture = event.target.closest('[data-large]')
  if (!picture || event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  pictures = [...stage.querySelectorAll('[data-large]')]
  enlarge(picture)
  box.showModal()
})
box.addEventListener('click', ({ target }) => {
  if (target === large) box.classList.toggle('real')
  else if (!target.closest('nav')) box.close()
})
box.addEventListener('keydown', ({ key }) => {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[key]
  if (by) turn(by)
})
let touched
box.addEventListener('touchstart', ({ touches }) => (touched = touches.length === 1 ? touches[0].clientX : undefined))
box.addEventListener('touchend', ({ changedTouches }) => {
  const moved = changedTouches[0].clientX - touched
  if (!box.classList.contains('real') && Math.abs(moved) > 60) turn(moved < 0 ? 1 : -1)
})

// ---- Elsewhere: the tab's title, and a notification -----------------------------------------------------------------

const { title } = document
const notify = document.querySelector('#notify')
const wish = notify.querySelector('input')
let wasRunning = isRunning()

function showElsewhere() {
  const running = isRunning()
  const share = stage.querySelector('progress')?.value
  const ended = wasRunning && !running
  wasRunning = running
  if (running) document.title = share > 0 ? `${Math.round(share * 100)} % · ${title}` : `… ${title}`
  else if (ended) document.title = document.hidden ? `✓ ${texts.done} · ${title}` : title
  if (ended && document.hidden && wish.checked && Notification.permission === 'granted')
    tell(stage.querySelector('h2')?.textContent ?? texts.imageDone)
}
function tell(text) {
  try {
    new Notification(text, { tag: 'easel' }).onclick = () => focus()
  } catch {
    // Browsers of phones have no such notifications, which only shows when one is made.
    notify.hidden = true
  }
}
new MutationObserver(showElsewhere).observe(stage, { subtree: true, childList: true, attributes: true })
new MutationObserver(showElsewhere).observe(document.querySelector('#act'), { subtree: true, attributes: true })
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && !isRunning()) document.title = title
})
if ('Notification' in window && Notification.permission !== 'denied') {
  notify.hidden = false
  wish.checked = choices.get('notify') === 'on' && Notification.permission === 'granted'
  wish.addEventListener('change', async () => {
    if (wish.checked && (await Notification.requestPermission()) !== 'granted') wish.checked = false
    choices.set('notify', wish.checked ? 'on' : 'off')
  })
}

if (form.dataset.plain !== undefined) showDraft()
if (changed.has('prompt')) delete prompt.dataset.example
if (form.dataset.plain === undefined || changed.size > 0) keepDraft()
const panel = code.querySelector('details')
panel.open = choices.get('code') === 'open'
panel.addEventListener('toggle', () => choices.set('code', panel.open ? 'open' : 'folded'))
code.hidden = false
showLanguage()
showElsewhere()
choices.watch(showLanguage)
if (prompt.dataset.example !== undefined) prompt.select()
else if (!changed.has('prompt')) prompt.setSelectionRange(prompt.value.length, prompt.value.length)
const models = form.querySelector('.models')
const chosen = models.querySelector('.choice:has(:checked)')
if (chosen) models.scrollTop = chosen.offsetTop - models.offsetTop - 8
