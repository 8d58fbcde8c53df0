// What pages do with answers that are not the server's, or that never come.
;(() => {
  const isStream = (element) => element.hasAttribute('hx-sse:connect')

  // A proxy in front answers 502 or 413 with a page of its own, which must not become part of this one. Ours all have a number.
  document.addEventListener('htmx:before:response', (event) => {
    const { target, detail } = event
    const { status, headers } = detail.ctx.response
    if (status < 400 || (headers.has('x-request-id') && !(isStream(target) && status >= 500))) return
    event.preventDefault()
    htmx.trigger(target, 'htmx:error', detail)
  })

  document.addEventListener('htmx:error', ({ target, detail: { ctx } }) => {
    if (!ctx) return
    // One that was followed before is asked for again by itself; so is all else that nobody pressed.
    const again = () => target.isConnected && htmx.ajax('GET', ctx.request.action, { source: target })
    if (isStream(target)) setTimeout(again, 2000)
    if (!target.matches('form, button')) return
    document.querySelector('.unreachable')?.remove()
    const sentence = document.createElement('p')
    sentence.className = 'problem unreachable'
    sentence.role = 'alert'
    sentence.textContent = texts.unreachable
    if (ctx.target?.matches?.('#problem, #outcome')) ctx.target.replaceChildren(sentence)
    else target.after(sentence)
  })
})()
