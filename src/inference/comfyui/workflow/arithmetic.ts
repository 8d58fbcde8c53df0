/** Longer ones are nobody's sizes, and each bracket is a call. */
const MAX_LENGTH = 200

const TOKEN = /\d+(?:\.\d+)?|[a-z_]\w*|\/\/|[-+*/%&(),]/gi

/** From those that bind least; Python's. */
const OPERATORS: readonly Readonly<Record<string, (a: number, b: number) => number>>[] = [
  { '&': (a, b) => a & b },
  { '+': (a, b) => a + b, '-': (a, b) => a - b },
  {
    '*': (a, b) => a * b,
    '/': (a, b) => a / b,
    '//': (a, b) => Math.floor(a / b),
    '%': (a, b) => a - b * Math.floor(a / b),
  },
]

const FUNCTIONS = new Map<string, (...numbers: number[]) => number>(
  Object.entries({
    ...{ min: Math.min, max: Math.max, abs: Math.abs },
    ...{ floor: Math.floor, ceil: Math.ceil, int: Math.trunc, round: Math.round },
  }),
)

/** What an expression of a math node comes to, such as `(a // 16) * 16`; undefined for all that is not plain arithmetic. */
export function evaluate(expression: string, numberCalled: (name: string) => number | undefined): number | undefined {
  const tokens = expression.match(TOKEN) ?? []
  if (expression.length > MAX_LENGTH || tokens.join('') !== expression.replace(/\s+/g, '')) return undefined
  const took = (token: string) => tokens[0] === token && tokens.shift() !== undefined

  const operand = (): number => {
    if (took('-')) return -operand()
    if (took('(')) return closed(operation(0))
    const token = tokens.shift() ?? ''
    if (!took('(')) return /^\d/.test(token) ? Number(token) : (numberCalled(token) ?? Number.NaN)
    const numbers = [operation(0)]
    while (took(',')) numbers.push(operation(0))
    return closed(FUNCTIONS.get(token)?.(...numbers) ?? Number.NaN)
  }
  const closed = (value: number) => (took(')') ? value : Number.NaN)
  const operation = (level: number): number => {
    const operators = OPERATORS[level]
    if (!operators) return operand()
    let left = operation(level + 1)
    for (let next = tokens[0]; next !== undefined && Object.hasOwn(operators, next); next = tokens[0]) {
      tokens.shift()
      left = operators[next]?.(left, operation(level + 1)) ?? Number.NaN
    }
    return left
  }

  const value = operation(0)
  return tokens.length === 0 && Number.isFinite(value) ? value : undefined
}
