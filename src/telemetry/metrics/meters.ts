/** How the metrics of one process are made: names begin with `easel_`, and each has its registry. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

export type Meters = ReturnType<typeof meters>

export const meters = (registry: Registry) => ({
  /** @param zeros values of its only label that begin at 0; an alert misses the first rise of any other */
  counter<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
    zeros: readonly string[] = [],
  ) {
    const counter = new Counter<Label>({ name: `easel_${name}`, help, labelNames, registers: [registry] })
    const [label] = labelNames
    if (label !== undefined) for (const value of zeros) counter.inc({ [label]: value } as Record<Label, string>, 0)
    return counter
  },

  gauge<Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) {
    return new Gauge<Label>({ name: `easel_${name}`, help, labelNames, registers: [registry] })
  },

  histogram<Label extends string>(name: string, help: string, labelNames: readonly Label[], buckets: number[]) {
    return new Histogram<Label>({ name: `easel_${name}`, help, labelNames, buckets, registers: [registry] })
  },
})
