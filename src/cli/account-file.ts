/** The file of `easel user import`: CSV with a header. */
import { parse } from 'csv-parse/sync'
import type { ImportedAccount } from '../core/operator/accounts.js'
import { MAX_CREDITS } from '../core/operator/credits.js'
import { emailAddress, end, newUsername, planName, wholeNumber } from './arguments.js'
import { readText } from './json-file.js'
import { OperatorError } from './operator-error.js'

const COLUMNS = ['name', 'email', 'plan', 'until', 'credits']

interface Line {
  /** Of the file, where the record ends. */
  readonly line: number
  readonly fields: readonly string[]
}

/** @throws OperatorError with one sentence that names the line */
export async function readAccountFile(path: string): Promise<ImportedAccount[]> {
  const [header, ...lines] = linesOf(path, await readText(path, { what: 'a CSV file' }))
  if (!header) throw new OperatorError(`${path} is empty: its first line names the columns, ${COLUMNS.join(', ')}.`)
  const columns = header.fields.map((it) => it.toLowerCase())
  const unknown = columns.find((it, n) => !COLUMNS.includes(it) || columns.indexOf(it) < n)
  if (unknown !== undefined || !columns.includes('name'))
    throw new OperatorError(
      `The first line of ${path} must name the columns, each once: name, and of ${COLUMNS.slice(1).join(', ')} what you have${unknown === undefined ? '' : `, not "${unknown}"`}.`,
    )
  const accounts = lines.map((line) => inLine(line, () => toAccount(line, columns)))
  for (const field of ['username', 'email'] as const) requireDistinct(accounts, lines, field)
  return accounts
}

/** In Excel's own way to name the separator. */
const SEPARATOR = /^sep=(.)\n/i

function linesOf(path: string, text: string): Line[] {
  // The kinds of line ends may be mixed.
  const lines = text.replace(/\r\n?/g, '\n')
  const [named = '', separator] = SEPARATOR.exec(lines) ?? []
  const first = /^[^\n]*/.exec(lines.slice(named.length))?.[0] ?? ''
  // Spreadsheets of some languages write semicolons, and tabs what they call text.
  const delimiter = separator ?? [',', ';', '\t'].find((it) => first.includes(it)) ?? ','
  try {
    const options = { delimiter, trim: true, skip_empty_lines: true, skip_records_with_empty_values: true, info: true }
    const records = parse(lines.slice(named.length), options) as unknown as {
      record: string[]
      info: { lines: number }
    }[]
    return records.map(({ record, info }) => ({
      line: info.lines + (named === '' ? 0 : 1),
      // Of every kind of blank.
      fields: record.map((it) => it.trim()),
    }))
  } catch (error) {
    throw new OperatorError(`${path} is not valid CSV: ${(error as Error).message.replace(/\.$/, '')}.`)
  }
}

function toAccount({ fields }: Line, columns: readonly string[]): ImportedAccount {
  const of = (name: string) => fields[columns.indexOf(name)] || undefined
  const read = <T>(name: string, reader: (text: string) => T): T | undefined => {
    const text = of(name)
    return text === undefined ? undefined : reader(text)
  }
  const plan = read('plan', planName('plan'))
  const endDate = read('until', end('until'))
  if (endDate && plan === undefined) throw new OperatorError('until is the end of a subscription: give a plan, too.')
  return {
    username: newUsername(of('name') ?? ''),
    email: read('email', emailAddress),
    subscription: plan === undefined ? undefined : { plan, endDate },
    credits: read('credits', wholeNumber('credits', 0, MAX_CREDITS)) ?? 0,
  }
}

function inLine<T>({ line }: Line, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof OperatorError ? new OperatorError(`Line ${line}: ${error.message}`) : error
  }
}

function requireDistinct(accounts: readonly ImportedAccount[], lines: readonly Line[], field: 'username' | 'email') {
  const seen = new Map<string, number>()
  for (const [n, account] of accounts.entries()) {
    const value = account[field]?.toLowerCase()
    if (value === undefined) continue
    const first = seen.get(value)
    if (first !== undefined)
      throw new OperatorError(
        `Lines ${lines[first]?.line} and ${lines[n]?.line} have the same ${field === 'username' ? 'name' : 'email'}, ${account[field]}.`,
      )
    seen.set(value, n)
  }
}
