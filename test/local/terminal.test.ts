import { PassThrough } from 'node:stream'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { elapsed, LiveLine } from '../../src/local/terminal.js'

function given(options: { isTTY: boolean; columns?: number; colours?: boolean }) {
  const stream = Object.assign(new PassThrough(), { ...options, hasColors: () => options.colours ?? false })
  const written = () => String(stream.read() ?? '')
  return { line: new LiveLine(stream as unknown as NodeJS.WriteStream), written }
}

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllEnvs()
})

describe('LiveLine', () => {
  it('rewrites its line in place, counts the time, and leaves nothing of the line behind', () => {
    vi.useFakeTimers()
    vi.stubEnv('TERM', 'xterm')
    const { line, written } = given({ isTTY: true, columns: 60 })
    line.show({ text: 'Queued, place 2' })
    expect(written()).toBe('\rQueued, place 2  0.0 s\x1b[K')
    vi.advanceTimersByTime(100)
    expect(written()).toBe('\rQueued, place 2  0.1 s\x1b[K')
    line.say('A line that stays')
    expect(written()).toBe('\r\x1b[KA line that stays\n\rQueued, place 2  0.1 s\x1b[K')
    line.clear()
    expect(written()).toBe('\r\x1b[K')
    vi.advanceTimersByTime(1000)
    expect(written()).toBe('')
  })

  it.each([20, 34, 40, 80])('fits into %i columns', (columns) => {
    vi.useFakeTimers()
    vi.stubEnv('TERM', 'xterm')
    const { line, written } = given({ isTTY: true, columns })
    line.show({ text: 'Drawing the image', fraction: 0.5 })
    const shown = written().replace('\r', '').replace('\x1b[K', '')
    expect(shown.length).toBeLessThan(columns)
    expect(shown).toMatch(/^Drawing the image/)
    if (columns >= 40) expect(shown).toMatch(/ (━+)─+ {3}50 % {2}0\.0 s$/)
    line.clear()
  })

  it('writes plain lines if there is no terminal: one for each stage and for every tenth of progress', () => {
    const { line, written } = given({ isTTY: false })
    line.show({ text: 'Queued, place 1' })
    line.show({ text: 'Queued, place 1' })
    for (const fraction of [0, 0.04, 0.2, 0.25, 0.31]) line.show({ text: 'Drawing', fraction })
    line.say('Done')
    line.clear()
    const texts = written().replaceAll(/ {2}\d+\.\d s$/gm, '')
    expect(texts).toBe('Queued, place 1\nDrawing  0 %\nDrawing  20 %\nDrawing  31 %\nDone\n')
  })

  it('has colours only if the terminal has', () => {
    vi.stubEnv('TERM', 'xterm')
    expect(given({ isTTY: true, colours: false }).line.style('bold', 'Title')).toBe('Title')
    expect(given({ isTTY: true, colours: true }).line.style('bold', 'Title')).toBe('\x1b[1mTitle\x1b[22m')
  })

  it('shows times in seconds and minutes', () => {
    expect([940, 59_949, 59_950, 125_000].map(elapsed)).toEqual(['0.9 s', '59.9 s', '1 min 00 s', '2 min 05 s'])
  })
})
