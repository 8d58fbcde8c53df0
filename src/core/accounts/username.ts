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
  'admin administrator adminteam sysadmin superuser root operator moderator staff official support helpdesk security billing easel'
/** Reserved also where a word ends so, as in "superadmin". */
const ENDINGS = 'admin administrator operator moderator support helpdesk'
/** With a role they are reserved, too, as in "supportagent". */
const BESIDE_ROLES =
  'account agent and care chat center centre chief department desk for hotline lead line man manager of office only person sub super us woman'
/** Reserved alone, together, and with an article. */
const OTHERS =
  'system sys sysop server owner mod moderation administration customer team help service info contact sales legal privacy abuse postmaster webmaster hostmaster ' +
  'mailerdaemon daemon noreply donotreply mail email account payment invoice login signin signup password api bot www http ' +
  'https commandline nobody anonymous unknown deleted removed everyone null undefined ' +
  'trust trusted safety community compliance copyright dmca refund verification verified verify authority management maintenance ' +
  'newsletter notification alert announcement feedback logout signout register registration subscription superadministrator'
/** Reserved alone: parts of this site. */
const PLACES =
  'about all asset capability cdn client compare config confirmemail console cookie cover create dashboard demo docs documentation easelclient export ' +
  'favicon file folder gallery generate generation health home image imprint index key mcp metric model oauth oidc openapi playground pricing ' +
  'profile ready reference report robots search settings signin sitemap static status stripe terms thumbnail token upnext usage users v1 webhook welcome wellknown workflow'

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

/** Letters that two others, or another one, are drawn like. */
const DRAWN: Readonly<Record<string, string>> = { d: '(?:d|cl)', g: '[gq6]', m: '(?:m|nn)', s: '[sz]', w: '(?:w|uu)' }

/** A word however it is drawn, and with a letter more or less often in a row, which nobody sees. Of short ones that makes other words. */
function drawn(word: string): string {
  const text = reading(word)
  return text.replace(/(.)\1*/g, (run, letter) => {
    const least = text.length > 4 ? 1 : run.length
    return `${DRAWN[letter] ?? letter}{${least}${text.length > 3 ? ',' : ''}}`
  })
}

const oneOf = (words: string) => `(?:${words.split(' ').map(drawn).join('|')})${DRAWN.s}?`
const ROLE = new RegExp(`^${oneOf(ROLES)}$|${oneOf(ENDINGS)}$`)
const RESERVED = new RegExp(
  `^(?:the|real)?(?:${oneOf(`${ROLES} ${OTHERS}`)})+$|^(?:${oneOf(BESIDE_ROLES)})*${oneOf(ROLES)}(?:${oneOf(`${ROLES} ${BESIDE_ROLES}`)})*$`,
)
const PLACE = new RegExp(`^(?:${PLACES.replaceAll(' ', '|')})s?$`, 'i')
/** This program with a role, whatever stands around them. */
const OURS = new RegExp(
  [`${drawn('easel')}${oneOf(`${ROLES} team help`)}`, `${oneOf(ROLES)}${drawn('easel')}`].join('|'),
)
/** As deleted accounts are called: `takeName` in db/accounts/purges.ts. */
const DELETED = new RegExp(`^${drawn('deleted')}`)

/** As it is written, and without the number that makes it another one. */
const readings = (text: string) => [text, text.replace(/^[\d._-]+|[\d._-]+$/g, '')].map(reading)

/** What an installation is called, alone and with the words above. */
function isOfSite(name: string, siteName: string): boolean {
  const site = siteName.normalize('NFKD').replace(/[^A-Za-z0-9]+/g, '')
  if (reading(site) === '') return false
  const words = new RegExp(`^(?:the|real)?(?:${oneOf(`${ROLES} ${OTHERS} ${site}`)})+$`)
  return readings(name).some((it) => words.test(it))
}

function isReserved(name: string): boolean {
  // A digit may stand for a letter, or between words.
  const words = [...wordsOf(name), ...name.split(/[^A-Za-z]+/)]
  return (
    readings(name).some((it) => RESERVED.test(it) || OURS.test(it) || DELETED.test(it)) ||
    words.some((word) => readings(word).some((it) => ROLE.test(it))) ||
    PLACE.test(name.replace(/[._-]/g, ''))
  )
}

/** Whether an account that was deleted and wiped is called so; nobody else may be. */
export const isNameOfDeleted = (name: string): boolean => /^deleted-[0-9a-f]{16}$/i.test(name)

/**
 * Why people can't give themselves this name, in one sentence; undefined if they can, unless it is taken.
 * @param siteName what the installation is called
 */
export function usernameProblem(name: string, siteName = ''): string | undefined {
  if (!SHAPE.test(name))
    return 'That cannot be a username. Use 1 to 64 letters, digits, dots, hyphens and underscores, and begin with a letter or digit.'
  if (DOMAIN.test(name)) return 'That looks like a web address. Leave out the dot, or use a hyphen.'
  if (wordsOf(name).filter((word) => /[a-z]{2}/i.test(word)).length > MAX_WORDS)
    return `A username has at most ${MAX_WORDS} words. Choose a shorter one.`
  if (isReserved(name) || isOfSite(name, siteName))
    return 'That name could be taken for somebody who runs this site. Choose another one.'
  return undefined
}

/** Of what somebody is called elsewhere, a name that they could have given themselves here; of the first text that gives one. */
export function usernameFrom(texts: readonly (string | undefined)[], siteName = ''): string {
  for (const text of texts) {
    const found = namesIn(text ?? '').find((it) => usernameProblem(it, siteName) === undefined)
    if (found) return found
  }
  return 'user'
}

function namesIn(text: string): string[] {
  const letters = text.replace(/@.*$/s, '').normalize('NFKD')
  const name = letters
    .replace(/[^A-Za-z0-9._-]+/g, '')
    .replace(/^[._-]+/, '')
    .slice(0, 64)
  const shorter = wordsOf(name).slice(0, MAX_WORDS).join('-')
  return [name, name.replaceAll('.', '-'), shorter]
}
