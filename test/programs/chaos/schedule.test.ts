import { expect, it } from 'vitest'
import { seeded } from '../../support/seeded.js'
import { FAILPOINTS } from './failpoint.js'
import { drawFailpoints } from './failpoint-draw.js'
import { healTimes, spreadOf, wastedRuns } from './figures.js'
import { HOSTS, scheduleOf } from './schedule.js'
import { windows } from './windows.js'

it('the same seed gives the same schedule of faults, and another seed another one', () => {
  expect(scheduleOf(7, 120_000)).toEqual(scheduleOf(7, 120_000))
  expect(scheduleOf(7, 120_000)).not.toEqual(scheduleOf(8, 120_000))
})

it('the schedule of a longer run begins like that of a shorter one', () => {
  const short = scheduleOf(7, 60_000)
  expect(scheduleOf(7, 600_000).filter(({ atMs }) => atMs < 60_000)).toEqual(short)
})

it('only ComfyUI hosts get faults that no other kind of host has', () => {
  const faults = scheduleOf(3, 3_600_000, 2, ['gpu']).flatMap((fault) => ('target' in fault ? [fault] : []))
  const of = (kind: string) =>
    new Set(faults.flatMap((fault) => (HOSTS[fault.target]?.kind === kind ? fault.kind : [])))
  const [comfyui, a1111] = [of('comfyui'), of('a1111')]
  expect([...a1111].filter((kind) => !comfyui.has(kind))).toEqual([])
  expect([...comfyui].filter((kind) => !a1111.has(kind)).sort()).toEqual([
    ...['gpu.exception', 'gpu.late', 'gpu.late_answer', 'gpu.missing_file', 'gpu.no_events', 'gpu.out_of_memory'],
    'gpu.restart',
  ])
})

it('each lane of a schedule has one fault at a time', () => {
  for (const lane of ['redis', 'postgres', 'store']) {
    let free = 0
    for (const fault of scheduleOf(3, 600_000, 2, [lane])) {
      expect(fault.atMs).toBeGreaterThanOrEqual(free)
      free = fault.atMs + ('forMs' in fault ? fault.forMs : 0)
    }
  }
})

it('60 draws of failpoints have the form that the processes read, and hold each failpoint', () => {
  const chance = seeded(1)
  const names = new Set<string>()
  for (let i = 0; i < 60; i++) {
    for (const entry of drawFailpoints(chance).split(',')) {
      const [, name] = /^([a-z_.]+)=(?:kill|stop|throw|delay:\d+)@0\.\d+$/.exec(entry) ?? []
      names.add(String(name))
    }
  }
  expect([...names].sort()).toEqual([...FAILPOINTS].sort())
})

it('a window excuses what overlaps it, and what comes within its grace', () => {
  let now = 1000
  const spans = windows(() => now)
  const close = spans.open('postgres')
  now = 2000
  close()
  expect(spans.during(['postgres'], 0, 999)).toBe(false)
  expect(spans.during(['postgres'], 0, 1000)).toBe(true)
  expect(spans.during(['postgres'], 2500, 2600)).toBe(false)
  expect(spans.during(['postgres'], 2500, 2600, 500)).toBe(true)
  expect(spans.during(['redis'], 1500, 1600)).toBe(false)
})

const run = (gpu: number, tag: string, at: number, endedAt: number | undefined, answered = true) => ({
  ...{ gpu, tag, kind: 'plain', at, endedAt, answered },
})

it('the time to heal is that from a worker’s death to the next run of what it was running', () => {
  const runs = [run(0, 'a', 100, 150, false), run(1, 'b', 100, 140), run(1, 'a', 9100, 9140)]
  expect(healTimes(runs, [{ gpu: 0, at: 120 }])).toEqual([8980])
  expect(healTimes(runs, [{ gpu: 1, at: 5000 }])).toEqual([])
})

it('wasted runs are those whose image nobody got', () => {
  const runs = [run(0, 'a', 0, 1), run(1, 'a', 2, 3), run(0, 'b', 4, 5), run(0, 'c', 6, 7, false), run(0, 'c', 8, 9)]
  expect(wastedRuns(runs, new Set(['a', 'c']))).toBe(2)
})

it('a spread holds the count, the quantiles and the maximum of what was measured', () => {
  expect(spreadOf([3, 1, 2])).toEqual({ count: 3, p50: 2, p99: 3, max: 3 })
  expect(spreadOf([])).toEqual({ count: 0, p50: 0, p99: 0, max: 0 })
})
