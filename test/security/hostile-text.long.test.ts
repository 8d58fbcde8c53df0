/**
 * Every pattern of src/, over hostile texts of growing length. A pattern that looks for a beginning at every place and then reads on to the
 * end takes a time that grows with the square of the length: 100,000 letters hold a server up for seconds.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, it, vi } from 'vitest'
import { ROOT } from '../support/compile.js'

const BRIEFLY = '10,000 letters: `briefly` takes no more of what a GPU server says'

/** Patterns that may be slow, by file and source, and why: what they read is ours, or short before they read it. */
const SHORT: Readonly<Record<string, string>> = {
  'client/easel-client.ts /\\/+$/': 'the address that who uses the client gives it',
  'core/accounts/username.ts /\\.[a-z]{2,}(?![a-z0-9])|\\bxn--|^[0-9.]+\\.[0-9.]+$/i':
    'a username of at most 64 letters',
  'core/accounts/username.ts /^[\\d._-]+|[\\d._-]+$/g': 'a username of at most 64 letters',
  'db/billing/payment-faults.ts /[^\\s"\'<>]+@[^\\s"\'<>]+/g': 'a sentence of at most 2,000 letters',
  'db/hosts.ts /[?&]host=[^&#]*(,|%2c)/i': 'a URL of the operator’s',
  'db/migrations/new-migration.ts /\\s*\\]\\s*\\}\\s*$/': 'the journal of migrations',
  'inference/comfyui/prompt-submission.ts /missing_node_type|node \\S+ does not exist|node type .* not found/i':
    BRIEFLY,
  'inference/comfyui/workflow/requirements.ts /load.*(image|mask|video|audio)/i': 'a class of at most 500 letters',
  'inference/openai/openai-backend.ts /<sd_cpp_extra_args>.*?<\\/sd_cpp_extra_args>/gs':
    'a prompt of at most 2,000 letters',
  'inference/server-reply.ts /\\bmodel\\b.* (not found|does not exist)/i': BRIEFLY,
  'inference/server-http.ts /\\/+$/': 'a URL of the operator’s',
  'inference/server-kinds.ts /, (?!.*, )/': 'a list of ours',
  'process/config-values.ts /\\/+$/': 'a URL of the operator’s',
  'outbound/smtp-mail.ts /[^\\s<>"\'(]+@[^\\s<>"\')]+|\\bhttps?:\\S+/gi': '400 letters of what a mail server says',
  'web/parts/reference/reference-markdown.ts /^(#+) \\[(.+)\\]\\(#.+\\)$/gm': 'our own documentation',
  'web/shared/accent.ts /--([\\w-]+):\\s*light-dark\\((#\\w{6}),\\s*(#\\w{6})\\)/g': 'our own style sheet',
}

interface Pattern {
  /** Of the file, with the line. */
  readonly place: string
  readonly regex: RegExp
}

function patternsIn(path: string): Pattern[] {
  const file = ts.createSourceFile(path, readFileSync(join(ROOT, 'src', path), 'utf8'), ts.ScriptTarget.Latest, true)
  const found: Pattern[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/')
      const regex = new RegExp(node.text.slice(1, end), node.text.slice(end + 1))
      found.push({ place: `${path}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`, regex })
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.(tsx?|js)$/.test(path) && !path.endsWith('.d.ts'))
  .sort()

const patterns = files
  .flatMap(patternsIn)
  // Without a repetition there is no end to which it could read on.
  .filter(({ regex }) => /[*+]|\{\d*,/.test(regex.source))

/** A letter that each part of a pattern takes, in their order: `[A-Z]+x\d` is A, x, 0. */
function partsOf({ source, flags }: RegExp): string[] {
  const parts: string[] = []
  const samples = [
    'A',
    'a',
    '0',
    ' ',
    '\n',
    '_',
    '-',
    '/',
    '.',
    ',',
    ';',
    ':',
    '=',
    '"',
    '<',
    '(',
    '@',
    '%',
    '&',
    'é',
    '\t',
    '\\',
    '\0',
    '👍',
  ]
  for (const [part] of source.matchAll(
    /\(\?(?:<?[=!]|:|<\w+>)|\[(?:\\.|[^\]\\])*\]|\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\u[\da-f]{4}|\\x[\da-f]{2}|\\.|\{[\d,]+\}|./gisu,
  )) {
    if (/^(\(.*|[|)^$*+?]|\\[bB1-9]|\{[\d,]+\})$/s.test(part)) continue
    const one = new RegExp(`^${part}$`, flags.replace(/[gy]/g, ''))
    const sample = [part, part.slice(1), ...part, ...samples].find((it) => it !== '' && one.test(it))
    if (sample !== undefined) parts.push(sample)
  }
  return parts
}

interface Attack {
  readonly begin: string
  /** What comes again and again. */
  readonly unit: string
}

const LENGTHS = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20]

/** Single letters, and the parts of the pattern from any one to any other, behind nothing or behind all parts before. */
function attacksOn(regex: RegExp): Attack[] {
  const parts = partsOf(regex)
  const attacks = parts.flatMap((_, i) =>
    LENGTHS.flatMap((length) => {
      const unit = parts.slice(i, i + length).join('')
      return ['', parts.slice(0, i).join('')].map((begin) => ({ begin, unit }))
    }),
  )
  const letters = [' ', 'A', 'a', '0', '/', '\n'].map((unit) => ({ begin: '', unit }))
  const unique = new Map([...attacks, ...letters].map((it) => [`${it.begin}\n${it.unit}`, it]))
  return [...unique.values()].filter(({ unit }) => unit !== '')
}

/** In microseconds of CPU: the shortest of some rounds, since others only add to it. */
function timeOf(regex: RegExp, text: string, rounds: number): number {
  let shortest = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage()
    text.replace(regex, '')
    const { user, system } = process.cpuUsage(before)
    shortest = Math.min(shortest, user + system)
  }
  return shortest
}

/** How often something comes. */
const SHORTEST = 3000
/** A time below says nothing; one of a pattern that grows with the length is below, or grows like it. */
const NOTICEABLE_US = 4000
/** Four times the length takes four times the time, or sixteen times. */
const BETWEEN = 8

function growsTooFast(regex: RegExp, { begin, unit }: Attack): boolean {
  const textOf = (factor: number) => `${begin}${unit.repeat(factor * SHORTEST)}\0`
  if (timeOf(regex, textOf(1), 1) < NOTICEABLE_US) return false
  const [short, long] = [timeOf(regex, textOf(1), 3), timeOf(regex, textOf(4), 3)]
  return short >= NOTICEABLE_US && long > BETWEEN * short
}

/** The files that make patterns as they run, and what makes them do so; undefined: those have no repetition. */
const MAKERS: Readonly<Record<string, (() => Promise<unknown>) | undefined>> = {
  'cli/operator-error.ts': undefined,
  'core/accounts/api-key.ts': () => import('../../src/core/accounts/api-key.js'),
  'core/accounts/username.ts': () => import('../../src/core/accounts/username.js'),
  'core/outage.ts': () => import('../../src/core/outage.js'),
  'http/create-image-api/openai-routes.ts': undefined,
  'http/server/app.ts': undefined,
  'http/shared/error-bodies.ts': () => import('../../src/http/shared/error-bodies.js'),
  'http/shared/error-responses.ts': async () => {
    const { handleNotFound } = await import('../../src/http/shared/error-responses.js')
    const { paths } = JSON.parse(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8')) as { paths: object }
    const addHook = (name: string, hook: (route: object) => void) => {
      if (name !== 'onRoute') return
      for (const path of Object.keys(paths)) hook({ url: path.replace(/\{(\w+)\}/g, ':$1'), method: 'GET' })
    }
    handleNotFound({ addHook, setNotFoundHandler: () => undefined } as never, undefined as never)
  },
  'inference/comfyui/prompt-result.ts': () => import('../../src/inference/comfyui/prompt-result.js'),
  'inference/drawn-image.ts': async () =>
    (await import('../../src/inference/drawn-image.js')).fieldsOf('Steps: 20, Seed: 1')('Seed'),
  'lib/email-address.ts': () => import('../../src/lib/email-address.js'),
  'web/texts/refusals.ts': () => import('../../src/web/texts/refusals.js'),
}

/** Of those, whose text is cut before they read it: at most so many letters. */
const CUT: Readonly<Record<string, number>> = {
  'core/accounts/username.ts': 64,
  'inference/comfyui/prompt-result.ts': 10_000,
  'lib/email-address.ts': 254,
  'web/texts/refusals.ts': 500,
}
/** What a text of that length may take: it is read once for each request at most. */
const CUT_US = 50_000

/** The patterns that a file makes while `make` runs. */
async function madeIn(path: string, make: () => Promise<unknown>): Promise<Pattern[]> {
  const made: Pattern[] = []
  const Original = globalThis.RegExp
  vi.resetModules()
  globalThis.RegExp = new Proxy(Original, {
    construct(target, given: [string, string?]) {
      const regex = new target(...given)
      if (new Error('here').stack?.includes(`src/${path}`)) made.push({ place: path, regex })
      return regex
    },
  })
  try {
    await make()
  } finally {
    globalThis.RegExp = Original
  }
  return made
}

const keyOf = ({ place, regex }: Pattern) => `${place.replace(/:\d+$/, '')} ${regex}`

describe('a pattern over text that others write', () => {
  it('is found at all', () => {
    expect(patterns.length).toBeGreaterThan(200)
    const isSlow = (regex: RegExp) => attacksOn(regex).some((attack) => growsTooFast(regex, attack))
    expect(isSlow(/([A-Z]+)([A-Z][a-z])/g)).toBe(true)
    expect(isSlow(/[?&]host=[^&#]*,/)).toBe(true)
    expect(isSlow(/^<.*?<title[^>]*>/is)).toBe(true)
    expect(isSlow(/^[A-Z]+[a-z]/g)).toBe(false)
  })

  it('takes a time that grows with the length of the text, not with its square', () => {
    const slow = patterns.flatMap((pattern) => {
      // All of these read what `briefly` takes of a server's words.
      if (keyOf(pattern) in SHORT || pattern.place.startsWith('inference/out-of-memory.ts')) return []
      const attack = attacksOn(pattern.regex).find((it) => growsTooFast(pattern.regex, it))
      return attack ? [`${pattern.place} ${pattern.regex} over ${JSON.stringify(attack)}`] : []
    })
    expect(slow).toEqual([])
  }, 600_000)

  it('is known where it is made as the program runs', () => {
    const making = files.filter((path) => readFileSync(join(ROOT, 'src', path), 'utf8').includes('new RegExp('))
    expect(making).toEqual(Object.keys(MAKERS))
  })

  it.each(Object.entries(MAKERS))(
    'is as quick where it is made as the program runs: %s',
    async (path, make) => {
      if (!make) {
        const [, ...made] = readFileSync(join(ROOT, 'src', path), 'utf8').split('new RegExp(')
        for (const [, given = ''] of made.map((rest) => rest.split('`')))
          expect(given.replace(/\$\{[^}]*\}/g, '')).not.toMatch(/[*+]|\{\d*,/)
        return
      }
      const made = await madeIn(path, make)
      expect(made.length).toBeGreaterThan(0)
      const most = CUT[path]
      const isSlow = (regex: RegExp, attack: Attack) => {
        if (most === undefined) return growsTooFast(regex, attack)
        const text = `${attack.begin}${attack.unit.repeat(Math.ceil(most / attack.unit.length))}`.slice(0, most - 1)
        return timeOf(regex, `${text}\0`, 2) > CUT_US
      }
      const slow = made.flatMap(({ regex }) =>
        attacksOn(regex)
          .filter((it) => isSlow(regex, it))
          .slice(0, 1),
      )
      expect(slow).toEqual([])
    },
    600_000,
  )

  it('has an exception only while it is there', () => {
    const keys = new Set(patterns.map(keyOf))
    expect(Object.keys(SHORT).filter((key) => !keys.has(key))).toEqual([])
  })
})
