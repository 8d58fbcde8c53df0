/** The figures of a run: Easel's, the rival's, and Easel's divided by the rival's. */
export interface Figure {
  readonly name: string
  readonly easel: number
  readonly rival: number | undefined
  /** The median of the rounds' ratios, and the lowest and highest of them. */
  readonly ratio: number | undefined
  readonly spread: readonly [lowest: number, highest: number] | undefined
}

export class Figures {
  readonly all: Figure[] = []

  /** One value of each, or of Easel alone. */
  add(name: string, easel: number, rival?: number): void {
    const ratio = rival === undefined ? undefined : easel / rival
    this.#keep({ name, easel, rival, ratio, spread: undefined })
  }

  /** A value of each from every round, in the order of the rounds. */
  addRounds(name: string, easel: readonly number[], rival: readonly number[]): void {
    const ratios = easel.map((value, i) => value / (rival[i] as number))
    this.#keep({
      name,
      easel: median(easel),
      rival: median(rival),
      ratio: median(ratios),
      spread: [Math.min(...ratios), Math.max(...ratios)],
    })
  }

  #keep(figure: Figure): void {
    this.all.push(figure)
    console.log(`  ${rowOf(figure).join('   ')}`)
  }

  /** Markdown. */
  table(): string {
    return table(['', 'Easel', 'rival', 'Easel ÷ rival', 'spread'], this.all.map(rowOf))
  }
}

/** Markdown, every column but the first aligned right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_, n) => (n === 0 ? '---' : '--:'))
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

const rowOf = ({ name, easel, rival, ratio, spread }: Figure): string[] => [
  name,
  shown(easel),
  rival === undefined ? '' : shown(rival),
  ratio === undefined ? '' : ratio.toFixed(2),
  spread ? `${spread[0].toFixed(2)} to ${spread[1].toFixed(2)}` : '',
]

const shown = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3))

/** The value that this share of them does not exceed; 0 of none. */
export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0
}

/** The one in the middle; of an even number, half-way between the two. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2
}
