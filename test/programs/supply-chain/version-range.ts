/** Version ranges as package.json writes them: `^20.19.0 || >=22.12`, `>= 10.x`, `18 || 20`, `*`. */

type Version = readonly [number, number, number]

const compare = (a: Version, b: Version): number => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]

/** @throws Error on a range it can't read, so that none passes unread */
export function allowsVersion(range: string, version: Version): boolean {
  return range.split('||').some((alternative) => {
    const comparators = alternative.trim().match(/(?:[<>]=?|[~^=])?\s*[^\s<>=~^]+/g) ?? ['*']
    return comparators.every((comparator) => satisfies(comparator, version))
  })
}

function satisfies(comparator: string, version: Version): boolean {
  const [, operator = '', rest = ''] = /^([<>]=?|[~^=])?\s*v?(.+)$/.exec(comparator) ?? []
  const parts = rest.split('.')
  if (parts.length > 3 || !parts.every((part) => /^(\d+|[xX*])$/.test(part))) throw new Error(`no range: ${comparator}`)
  // How many numbers are given: the rest may be anything.
  const given = parts.findIndex((part) => !/^\d+$/.test(part))
  const known = given < 0 ? parts.length : given
  if (known === 0) return true
  const low = [0, 1, 2].map((i) => (i < known ? Number(parts[i]) : 0)) as unknown as Version
  const lowest = compare(version, low) >= 0
  switch (operator) {
    case '>=':
      return lowest
    case '<':
      return !lowest
    case '>':
      return compare(version, next(low, known - 1)) >= 0
    case '<=':
      return compare(version, next(low, known - 1)) < 0
    case '^': {
      // The first number that is not nought stays.
      const firstSet = low.findIndex((part) => part > 0)
      return lowest && compare(version, next(low, firstSet < 0 ? known - 1 : Math.min(firstSet, known - 1))) < 0
    }
    case '~':
      return lowest && compare(version, next(low, Math.min(1, known - 1))) < 0
    default:
      return lowest && compare(version, next(low, known - 1)) < 0
  }
}

/** The first version in which the number at `index` is higher. */
const next = (version: Version, index: number): Version =>
  version.map((part, i) => (i < index ? part : i === index ? part + 1 : 0)) as unknown as Version
