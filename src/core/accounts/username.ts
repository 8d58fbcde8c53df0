/** The names that people may give themselves. Those that operators give, and those that there are, may be others. */

/** Without @ and +, unlike the operator's names: it must not look like somebody's address. */
const SHAPE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** Mail programs make a link of it. */
const DOMAIN = /\.[a-z]{2,}(?![a-z0-9])|\bxn--|^[0-9.]+\.[0-9.]+$/i

/** More make a sentence, which others would read as ours. */
const MAX_WORDS = 3
const wordsOf = (name: string) => name.split(/[._-]+|(?<=[a-z])(?=[A-Z])/)

/** Reserved wherever they are a word of the name. */
const ROLES =
  'admin administrator sysadmin superuser root operator moderator staff official support helpdesk security billing easel'
/** Reserved also where a word ends so, as in "superadmin". */
const ENDINGS = 'admin administrator operator moderator support helpdesk'
/** Reserved alone, together, and with an article. */
const OTHERS =
  'system sys sysop server owner mod moderation administration customer team help service info contact sales legal privacy abuse postmaster webmaster hostmaster ' +
  'mailerdaemon daemon noreply donotreply mail email account payment invoice login signin signup password api bot www http ' +
  'https commandline nobody anonymous unknown deleted everyone all null undefined'

/** What is read as another letter, and as which; what has none in `READ_AS` is not read at all. */
export const DRAWN_ALIKE = '012345789i._@+-'
export const READ_AS = 'olzeastbgl'

/** The same for names that people take for each other; `users_lookalike` in Postgres is this, too. */
const reading = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[0-57-9i._@+-]/g, (it) => READ_AS[DRAWN_ALIKE.indexOf(it)] ?? '')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')

const oneOf = (words: string) => words.split(' ').map(reading).join('|')
const ROLE = new RegExp(`^(?:${oneOf(ROLES)})s?$|(?:${oneOf(ENDINGS)})s?$`)
const RESERVED = new RegExp(`^(?:the|real)?(?:(?:${oneOf(`${ROLES} ${OTHERS}`)})s?)+$`)

/** As it is written, and without the number that makes it another one. */
const readings = (text: string) => [text, text.replace(/^[\d._-]+|[\d._-]+$/g, '')].map(reading)

function isReserved(name: string): boolean {
  return (
    readings(name).some((it) => RESERVED.test(it)) ||
    wordsOf(name).some((word) => readings(word).some((it) => ROLE.test(it)))
  )
}

/** Why people can't give themselves this name, in one sentence; undefined if they can, unless it is taken. */
export function usernameProblem(name: string): string | undefined {
  if (!SHAPE.test(name))
    return 'That cannot be a username. Use 1 to 64 letters, digits, dots, hyphens and underscores, and begin with a letter or digit.'
  if (DOMAIN.test(name)) return 'That looks like a web address. Leave out the dot, or use a hyphen.'
  if (wordsOf(name).filter((word) => /[a-z]{2}/i.test(word)).length > MAX_WORDS)
    return `A username has at most ${MAX_WORDS} words. Choose a shorter one.`
  if (isReserved(name)) return 'That name could be taken for somebody who runs this site. Choose another one.'
  return undefined
}

/** Of what somebody is called elsewhere, a name that they could have given themselves here. */
export function usernameFrom(text: string): string {
  const letters = text.replace(/@.*$/s, '').normalize('NFKD')
  const name = letters
    .replace(/[^A-Za-z0-9._-]+/g, '')
    .replace(/^[._-]+/, '')
    .slice(0, 64)
  const shorter = wordsOf(name).slice(0, MAX_WORDS).join('-')
  return [name, name.replaceAll('.', '-'), shorter].find((it) => usernameProblem(it) === undefined) ?? 'user'
}
