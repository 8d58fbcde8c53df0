import { formatsOf } from '../formats.js'

/** Numbers, days and what is counted, in English. */
export const formats = formatsOf('en')

const counted =
  (one: string, many = `${one}s`) =>
  (count: number): string =>
    `${formats.number(count)} ${count === 1 ? one : many}`

const credits = counted('credit')
const images = counted('image')

export const words = {
  credits,
  images,
  generations: counted('generation'),
  modelVersions: counted('model version'),
  /** What a chart counts. */
  countOf: { credit: credits, image: images, subscription: counted('subscription') },
  /** At the head of a column of numbers. */
  headOf: { credit: 'Credits', image: 'Images', subscription: 'Subscriptions' },
}
