import type { Texts } from '../en/en.js'
import { formatsOf } from '../formats.js'

export const formats = formatsOf('de')

const counted =
  (one: string, many: string) =>
  (count: number): string =>
    `${formats.number(count)} ${count === 1 ? one : many}`

const credits = counted('Credit', 'Credits')
const images = counted('Bild', 'Bilder')

export const words = {
  credits,
  images,
  generations: counted('Generierung', 'Generierungen'),
  modelVersions: counted('Modellversion', 'Modellversionen'),
  countOf: { credit: credits, image: images, subscription: counted('Abonnement', 'Abonnements') },
  headOf: { credit: 'Credits', image: 'Bilder', subscription: 'Abonnements' },
} satisfies Partial<Texts>
