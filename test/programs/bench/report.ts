/** Where a run's figures go. */
import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { ROUNDS, SECONDS } from './bench.js'
import type { Figures } from './figures.js'
import { type Grown, growthTable } from './growth.js'

const DOCS = new URL('../../../docs/benchmarks.md', import.meta.url)
const [BEGIN, END] = ['<!-- figures -->', '<!-- /figures -->']

/** What was measured on. */
export const machine = (): string => `${availableParallelism()} cores (${cpus()[0]?.model}), Node ${process.version}`

/** All figures, and those of `--full`, into a file. */
export async function writeJson(file: string, { all }: Figures, growth: readonly Grown[] | undefined): Promise<void> {
  const on = {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model,
    memoryBytes: totalmem(),
    node: process.version,
  }
  await writeFile(file, `${JSON.stringify({ at: new Date(), machine: on, figures: all, growth }, null, 2)}\n`)
}

/** The tables, in place of those in docs/benchmarks.md. */
export async function writeDocs(figures: Figures, growth: readonly Grown[] | undefined): Promise<void> {
  const day = new Date().toISOString().slice(0, 10)
  const parts = [`Measured on ${day}: ${machine()}, ${ROUNDS} rounds of ${SECONDS} s.`, figures.table()]
  if (growth) parts.push('Growth: p50 in ms, and what it is of the empty system’s.', growthTable(growth))
  await writeFile(DOCS, withFigures(await readFile(DOCS, 'utf8'), parts.join('\n\n')))
}

/** The text with these figures between its two markers. @throws Error when it lacks them */
export function withFigures(text: string, figures: string): string {
  const [before, rest] = text.split(BEGIN)
  const after = rest?.split(END)[1]
  if (after === undefined) throw new Error(`docs/benchmarks.md needs ${BEGIN} and ${END}, between which the figures go`)
  return `${before}${BEGIN}\n\n${figures}\n\n${END}${after}`
}
