import { CREATE_IMAGE_MODELS, type ModelVersion } from './model-version.js'

const ORDER: readonly string[] = CREATE_IMAGE_MODELS

/**
 * What is drawn with where no model is named: the operator's choice, else the first that Create Image serves, else the
 * first on offer, but no NSFW model before another. One that can be drawn with now goes before all that cannot.
 * @param enabled in the catalog's order
 * @param served the IDs of those that a GPU server has now
 * @param chosen the operator's choice, which may be of no version that is on offer
 */
export function defaultOf(
  enabled: readonly ModelVersion[],
  served: readonly number[],
  chosen: number | undefined,
): ModelVersion | undefined {
  const rankOf = ({ id, nsfw, createImageModel }: ModelVersion) => {
    const place = createImageModel === null ? -1 : ORDER.indexOf(createImageModel)
    return (
      (served.includes(id) ? 0 : 1000) +
      (id === chosen ? 0 : 100 + (nsfw ? 50 : 0) + (place < 0 ? ORDER.length : place))
    )
  }
  return enabled.toSorted((a, b) => rankOf(a) - rankOf(b))[0]
}
