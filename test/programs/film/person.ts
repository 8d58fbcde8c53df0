/** Somebody in front of the website, who uses it in one way alone. */
import type { CDPSession, Locator, Page } from 'playwright-core'

/** With the keys alone; with a finger on a phone; or with a mouse, where no script runs. */
export type Way = 'keyboard' | 'touch' | 'no-script'
export const WAYS: readonly Way[] = ['keyboard', 'touch', 'no-script']

/** Something that should be so is not: the sentence says what. */
export class Fault extends Error {}

export function check(holds: boolean, sentence: string): asserts holds {
  if (!holds) throw new Fault(sentence)
}

/** No page has more that the key Tab leads to. */
const MOST_TABS = 400

/** The part of its text that names an element in a sentence. */
const nameOf = (target: Locator) =>
  target.evaluate(
    (it) => `"${(it.ariaLabel || it.textContent || it.id || it.getAttribute('name') || '').trim().slice(0, 60)}"`,
  )

export class Person {
  /** Keys that were pressed, touches and clicks; a text is one. */
  acts = 0
  readonly way: Way
  readonly page: Page
  readonly #session: CDPSession

  constructor(way: Way, page: Page, session: CDPSession) {
    this.way = way
    this.page = page
    this.#session = session
  }

  /** A link, a button, a box, what opens something. */
  async press(target: Locator): Promise<void> {
    if (this.way !== 'keyboard') return this.#point(target)
    await this.reach(target)
    await this.key(await target.evaluate((it) => (it.getAttribute('type') === 'checkbox' ? 'Space' : 'Enter')))
  }

  /** In place of what the field holds. */
  async write(target: Locator, text: string): Promise<void> {
    if (this.way === 'no-script') {
      this.acts++
      return target.fill(text)
    }
    await (this.way === 'touch' ? this.#point(target) : this.reach(target))
    await this.page.keyboard.press('ControlOrMeta+A')
    await (text === '' ? this.page.keyboard.press('Delete') : this.page.keyboard.insertText(text))
    this.acts++
  }

  /** One of several radio buttons. */
  async choose(target: Locator): Promise<void> {
    if (this.way !== 'keyboard') return this.#point(target)
    await this.#tabTo(target, HAS_FOCUS_OF_GROUP)
    for (let n = 0; n < MOST_TABS && !(await target.isChecked()); n++) await this.key('ArrowDown')
    await this.#see(target)
  }

  /** An option of a select, by its words. */
  async pick(target: Locator, option: string): Promise<void> {
    // The list of options is the system's own.
    if (this.way !== 'keyboard') {
      this.acts++
      return void (await target.selectOption(option))
    }
    await this.reach(target)
    const chosen = () => target.locator('option:checked').innerText()
    for (let n = 0; n < MOST_TABS && (await chosen()) !== option; n++) await this.key('ArrowDown')
  }

  async key(key: string): Promise<void> {
    this.acts++
    await this.page.keyboard.press(key)
  }

  /**
   * Moves the focus there with Tab, or with Shift and Tab where it stands before.
   * @throws Fault where that does not lead there, or what has the focus cannot be seen
   */
  async reach(target: Locator): Promise<void> {
    await this.#tabTo(target, HAS_FOCUS)
    await this.#see(target)
  }

  async #tabTo(target: Locator, isThere: (it: Element) => boolean): Promise<void> {
    await target.waitFor({ state: 'attached' })
    for (let n = 0; !(await target.evaluate(isThere)); n++) {
      if (n === MOST_TABS) throw new Fault(`The key Tab does not lead to ${await nameOf(target)}.`)
      await this.key((await target.evaluate(IS_BEFORE_FOCUS)) ? 'Shift+Tab' : 'Tab')
    }
  }

  async #see(target: Locator): Promise<void> {
    check(await target.evaluate(IS_SEEN), `${await nameOf(target)} has the focus and cannot be seen.`)
  }

  /** A finger, or the mouse. */
  async #point(target: Locator): Promise<void> {
    this.acts++
    if (this.way === 'no-script') return target.click()
    await this.touch(target)
  }

  /** @param forMs how long the finger stays */
  async touch(target: Locator, forMs = 0): Promise<void> {
    // As a finger scrolls there first.
    await target.scrollIntoViewIfNeeded()
    const [x, y] = await this.#middleOf(target)
    await this.#touches('touchStart', [{ x, y }])
    if (forMs > 0) await this.page.waitForTimeout(forMs)
    await this.#touches('touchEnd', [])
  }

  /** A finger across it, as shares of its width. */
  async swipe(target: Locator, from: number, to: number): Promise<void> {
    this.acts++
    const box = await target.boundingBox()
    check(box !== null, `${await nameOf(target)} is not shown.`)
    const y = Math.round(Math.min(box.y + box.height / 2, 700))
    const at = (share: number) => ({ x: Math.round(box.x + box.width * share), y })
    await this.#touches('touchStart', [at(from)])
    for (let n = 1; n <= 8; n++) await this.#touches('touchMove', [at(from + ((to - from) * n) / 8)])
    await this.#touches('touchEnd', [])
  }

  async #middleOf(target: Locator): Promise<readonly [number, number]> {
    const name = await nameOf(target)
    const { x, y, found, small } = await target.evaluate(MIDDLE)
    check(found === '', `A finger that touches ${name} meets ${found} instead.`)
    check(!small, `${name} is less than 24 pixels wide or high, too small for a finger.`)
    return [x, y]
  }

  #touches(type: 'touchStart' | 'touchMove' | 'touchEnd', touchPoints: { x: number; y: number }[]) {
    return this.#session.send('Input.dispatchTouchEvent', { type, touchPoints })
  }
}

const HAS_FOCUS = (it: Element) => it.ownerDocument.activeElement === it

const HAS_FOCUS_OF_GROUP = (it: Element) => {
  const { activeElement } = it.ownerDocument
  return (
    activeElement?.getAttribute('type') === 'radio' && activeElement.getAttribute('name') === it.getAttribute('name')
  )
}

const IS_BEFORE_FOCUS = (it: Element) => {
  const { activeElement, body } = it.ownerDocument
  const FOLLOWING = 4
  return activeElement !== null && activeElement !== body && (it.compareDocumentPosition(activeElement) & FOLLOWING) > 0
}

/** In the window, and not all of it below something else. */
const IS_SEEN = (it: Element) => {
  const { left, top, width, height } = it.getBoundingClientRect()
  const shares = [0.1, 0.5, 0.9]
  return shares.some((x) =>
    shares.some((y) => {
      const met = it.ownerDocument.elementFromPoint(left + width * x, top + height * y)
      return met !== null && (it.contains(met) || met.contains(it) || it.closest('label')?.contains(met) === true)
    }),
  )
}

const MIDDLE = (it: Element) => {
  const { left, top, width, height } = it.getBoundingClientRect()
  const [x, y] = [left + width / 2, top + height / 2]
  const met = it.ownerDocument.elementFromPoint(x, y)
  const isIt = met !== null && (it.contains(met) || it.closest('label')?.contains(met) === true)
  // A link in a line of text may be as high as the line.
  const small = Math.min(width, height) < 24 && it.ownerDocument.defaultView?.getComputedStyle(it).display !== 'inline'
  return { x, y, small, found: isIt ? '' : met === null ? 'nothing' : `<${met.localName} class="${met.className}">` }
}
