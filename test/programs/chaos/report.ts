import type { ChaosReport } from './chaos.js'
import type { Spread } from './figures.js'

/** The run as tables for a person. */
export function reportText(report: ChaosReport): string {
  const { heals, availability, runs, wasted, kills } = report
  const share = availability.asked === 0 ? 1 : availability.answered / availability.asked
  const sections: readonly (readonly [string, Iterable<readonly [string, string | number]>])[] = [
    ['Faults injected', sorted(report.faults)],
    ['Failpoints reached', report.failpoints],
    ['Generations by outcome', sorted(report.generations)],
    ['Drawn with a workflow, by its revision', sorted(report.workflows)],
    ['Payments', report.payments],
    ['Answers', sorted(report.answers)],
    [
      'Healing',
      [
        ['worker killed → its generation runs again', spreadText(heals.worker)],
        ['Redis back, empty → locks and queue back', spreadText(heals.redis)],
        ['Postgres back → first good answer', spreadText(heals.postgres)],
        ['user refused as busy with nothing active', spreadText(heals.blocked)],
        ['faults over → nothing active', `${(heals.end.max / 1000).toFixed(1)} s`],
      ],
    ],
    [
      'Service',
      [
        ['submits and polls answered outside fault windows', `${(share * 100).toFixed(3)} % of ${availability.asked}`],
        ['submits and polls inside fault windows', availability.excused],
        ['processes killed', kills],
        ['GPU runs, of which wasted', `${runs}, ${wasted}`],
      ],
    ],
    ['Internal errors answered (500)', sorted(report.internalErrors)],
    ['Processes that ended by themselves', sorted(report.unexpectedEnds)],
  ]
  const lines = sections.flatMap(([title, rows]) => {
    const all = [...rows]
    const width = Math.max(0, ...all.map(([name]) => name.length))
    return all.length === 0 ? [] : [`\n${title}`, ...all.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`)]
  })
  return lines.join('\n')
}

const sorted = (counts: ReadonlyMap<string, number>) => [...counts].sort(([a], [b]) => (a < b ? -1 : 1))

const spreadText = ({ count, p50, p99, max }: Spread): string =>
  count === 0 ? 'none' : `p50 ${seconds(p50)}  p99 ${seconds(p99)}  max ${seconds(max)}  (${count})`

const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`
