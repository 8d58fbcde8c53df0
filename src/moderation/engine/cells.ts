import { hasTurnedLetters, leetOf, lookalikesOf, turnedOf } from './lookalikes.js'

/** What lies between two letters, weakest first. */
export const NO_GAP = 0
/** Brackets without a space, or a change of script: a word border, which a term may still cross. */
export const GLUE = 1
export const MARK = 2
export const SPACE = 3

/** A text as a row of letters, with what lies between them. */
export interface Cells {
  /** All that each letter can be read as: code points in lower case, the plain reading first. */
  readonly options: readonly (readonly number[])[]
  /** The gap in front of each letter. */
  readonly gaps: Uint8Array
  /** 1 for digits and marks, which are a letter in leetspeak and else a gap. */
  readonly soft: Uint8Array
  /** The number of letters, repeats not counted, in this letter's piece between two gaps. */
  readonly pieceLetters: Uint16Array
  /** 1 for the s of "friend's": no word begins there. */
  readonly contraction: Uint8Array
  /** The number of the clause (what commas, brackets and dashes part) and of the sentence each letter is in. */
  readonly clauses: Uint16Array
  readonly sentences: Uint16Array
}

interface Sign {
  /** A letter's options, or a gap's strength. */
  readonly reads: readonly number[] | number
  readonly soft: boolean
  /** Its index in `SCRIPTS`. */
  readonly script: number
}

// ñ without its tilde; the sigma that ends a Greek word, which capitals don't have; letters that Arabic, Persian and Urdu
// write differently.
const OTHER_FORMS: Readonly<Record<string, readonly number[]>> = Object.fromEntries(
  ['ñn', 'ςσ', 'يی', 'یي', 'ىیي', 'كک', 'کك', 'ةه', 'ہه', 'ھه', 'هہ'].map((forms) => {
    const [letter, ...others] = [...forms]
    return [letter as string, others.map((other) => other.charCodeAt(0))]
  }),
)
const GLUE_MARKS = '()[]{}<>\\`【】「」『』〈〉《》〔〕'
const APOSTROPHES = "'’ʼ‘"
const CONTRACTION = /^(?:s|t|d|m|re|ve|ll)(?![a-z])/i
// The vowel signs of Hindi, Bengali, Tamil and Thai are letters to their readers.
const LETTER = /[\p{L}\p{N}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Tamil}\p{Script=Thai}]/u
const DIGIT = /\p{Nd}/u
const PICTOGRAPH = /\p{Extended_Pictographic}/u
// Letters in discs and squares, and those that make up flags.
const BOXED_LETTER = /[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}\u{1f1e6}-\u{1f1ff}]/u
const WHITE_SPACE = /\s/u
const SENTENCE_MARKS = '.!?'
const SENTENCE_ENDS = '。।؟\u06d4'
const CLAUSE_MARKS = ',;()[]{}<>|\n、،؛「」『』【】〈〉《》'
const SPACED_MARKS = '-–—:/'

// Where one of these meets another or none, there is a word border.
const SCRIPTS = [
  /\p{Script=Han}/u,
  /[\p{Script=Katakana}ー]/u,
  /\p{Script=Hiragana}/u,
  /\p{Script=Hangul}/u,
  BOXED_LETTER,
]

/** 0 to 9 for the digits of any script, such as Arabic and Thai ones; Unicode has each script's ten in a row. */
function latinDigit(code: number): number {
  let value = 0
  while (DIGIT.test(String.fromCodePoint(code - value - 1))) value++
  return 0x30 + (value % 10)
}

function readSign(code: number): Sign {
  const character = String.fromCodePoint(code)
  const script = SCRIPTS.findIndex((each) => each.test(character))
  const lookalikes = code < 128 ? [] : lookalikesOf(code)
  if (DIGIT.test(character)) {
    const digit = latinDigit(code)
    return { reads: [digit, ...leetOf(digit), ...lookalikes], soft: true, script }
  }
  if (LETTER.test(character)) {
    const lower = character.toLowerCase().codePointAt(0) as number
    return { reads: [lower, ...lookalikes, ...(OTHER_FORMS[character] ?? [])], soft: false, script }
  }
  if (WHITE_SPACE.test(character)) return { reads: SPACE, soft: false, script }
  if (BOXED_LETTER.test(character)) return { reads: [code, ...lookalikes], soft: false, script }
  const letters = code < 128 ? leetOf(code) : lookalikes
  if (letters.length > 0 || PICTOGRAPH.test(character)) return { reads: [code, ...letters], soft: true, script }
  return { reads: GLUE_MARKS.includes(character) ? GLUE : MARK, soft: false, script }
}

const MAX_CACHED_SIGNS = 20_000
const signs = new Map<number, Sign>()

function signOf(code: number): Sign {
  let sign = signs.get(code)
  if (!sign) {
    sign = readSign(code)
    if (signs.size < MAX_CACHED_SIGNS) signs.set(code, sign)
  }
  return sign
}

/** Reads a text, already undisguised, letter by letter. Linear in its length. */
export function toCells(text: string): Cells {
  const options: (readonly number[])[] = []
  const gaps = new Uint8Array(text.length)
  const soft = new Uint8Array(text.length)
  const contraction = new Uint8Array(text.length)
  const clauses = new Uint16Array(text.length)
  const sentences = new Uint16Array(text.length)
  let clause = 0
  let sentence = 0
  let gap = NO_GAP
  let script = -1
  let gapStart = 0
  for (let at = 0; at < text.length; ) {
    const code = text.codePointAt(at) as number
    const width = code > 0xffff ? 2 : 1
    const sign = signOf(code)
    if (typeof sign.reads === 'number') {
      if (gap === NO_GAP) gapStart = at
      gap = Math.max(gap, sign.reads)
    } else {
      const i = options.length
      if (gap === NO_GAP && script !== sign.script) gap = GLUE
      if (gap === MARK && at - gapStart === 1 && APOSTROPHES.includes(text[gapStart] as string)) {
        contraction[i] = CONTRACTION.test(text.slice(at, at + 3)) ? 1 : 0
      } else if (gap === NO_GAP && i > 0) contraction[i] = contraction[i - 1] as number
      gaps[i] = i === 0 ? NO_GAP : gap
      soft[i] = sign.soft ? 1 : 0
      clauses[i] = clause
      sentences[i] = sentence
      options.push(inContext(text, at, code, sign.reads))
      script = sign.script
      gap = NO_GAP
    }
    at += width
    if (typeof sign.reads === 'number' || sign.soft) {
      const ended = endedBy(text, at - width)
      if (ended !== undefined) clause++
      if (ended === 'sentence') sentence++
    }
  }
  const pieceLetters = readPieces(options, gaps, soft)
  // Some generators turn each letter and leave their order.
  if (hasTurnedLetters(text))
    options.forEach((read, i) => {
      options[i] = withTurned(read)
    })
  return { options, gaps, soft, contraction, pieceLetters, clauses, sentences }
}

/** What a mark ends; undefined within a word, as in "ch!ld" or "1.5". */
function endedBy(text: string, at: number): 'clause' | 'sentence' | undefined {
  const mark = text[at] as string
  if (SENTENCE_ENDS.includes(mark)) return 'sentence'
  if (CLAUSE_MARKS.includes(mark)) return 'clause'
  const spaced = WHITE_SPACE.test(text[at + 1] ?? ' ')
  if (spaced && SENTENCE_MARKS.includes(mark)) return 'sentence'
  return spaced && SPACED_MARKS.includes(mark) ? 'clause' : undefined
}

const CAPITAL_I = 0x49
const STAR = 0x2a
const I_OR_L = [0x69, 0x6c]
const PLAIN_STAR = [STAR]

/**
 * Two characters depend on their neighbours: a capital I is drawn like an l among small letters only (not in "an AI"),
 * and a star hides a letter inside a word only (not in "*bold*").
 */
function inContext(text: string, at: number, code: number, reads: readonly number[]): readonly number[] {
  if (code === CAPITAL_I) return isSmall(text[at - 1]) || isSmall(text[at + 1]) ? I_OR_L : reads
  if (code === STAR)
    return isSmall(text[at - 1]?.toLowerCase()) && isSmall(text[at + 1]?.toLowerCase()) ? reads : PLAIN_STAR
  return reads
}

const isSmall = (character: string | undefined): boolean =>
  character !== undefined && character >= 'a' && character <= 'z'

/** Counts the letters of each piece; one of digits and marks only, like "1011", keeps its plain reading alone. */
function readPieces(options: (readonly number[])[], gaps: Uint8Array, soft: Uint8Array): Uint16Array {
  const counts = new Uint16Array(options.length)
  for (let start = 0, end = 0; start < options.length; start = end) {
    let letters = 0
    let lettered = false
    for (end = start; end === start || (end < options.length && (gaps[end] as number) < MARK); end++) {
      if (end === start || options[end]?.[0] !== options[end - 1]?.[0]) letters++
      if (soft[end] === 0) lettered = true
    }
    counts.fill(letters, start, end)
    if (!lettered && end - start > 1) for (let at = start; at < end; at++) options[at] = [options[at]?.[0] as number]
  }
  return counts
}

/** The letters from `start` up to, and without, `end`. */
export function cut(cells: Cells, start: number, end: number): Cells {
  const gaps = cells.gaps.slice(start, end)
  gaps[0] = NO_GAP
  return {
    options: cells.options.slice(start, end),
    gaps,
    soft: cells.soft.slice(start, end),
    pieceLetters: cells.pieceLetters.slice(start, end),
    contraction: cells.contraction.slice(start, end),
    clauses: cells.clauses.slice(start, end),
    sentences: cells.sentences.slice(start, end),
  }
}

/** The letters in reverse order. */
export function reversed(cells: Cells): Cells {
  const length = cells.options.length
  const gaps = new Uint8Array(length)
  for (let i = 1; i < length; i++) gaps[i] = cells.gaps[length - i] as number
  const options = [...cells.options]
  return {
    options: options.reverse(),
    gaps,
    soft: cells.soft.slice(0, length).reverse(),
    pieceLetters: cells.pieceLetters.slice().reverse(),
    contraction: new Uint8Array(length),
    clauses: cells.clauses.slice(0, length).reverse(),
    sentences: cells.sentences.slice(0, length).reverse(),
  }
}

function withTurned(options: readonly number[]): readonly number[] {
  const turned = turnedOf(options[0] as number)
  return turned === undefined ? options : [...options, turned]
}
