/** The doors of the server: whom each lets in, and what comes for everybody else. */
import type { Caller } from './callers.js'

/** Is sent to sign in. */
export const SIGN_IN = 'sign in'
/** What comes: a status, or that. */
export type Outcome = number | typeof SIGN_IN

export interface DoorRule {
  /** Who comes to it. A website's door takes no keys, and an interface's no sessions: one of each shows that. */
  readonly callers: (caller: Caller, method: string) => boolean
  /** What a caller gets who is not let in; undefined: they are. */
  readonly refusal: (caller: Caller, method: string) => Outcome | undefined
  /** Who has the things that its paths name. Undefined: they belong to nobody in particular. */
  readonly owner?: Caller
}

const isPerson = (caller: Caller) => /^(in a browser|from another website): /.test(caller)
/** With a session that runs. */
export const isSignedIn = (caller: Caller) => isPerson(caller) && !/(ended session|deleted account)$/.test(caller)
const toInterface = (caller: Caller) => !isPerson(caller) || /^in a browser: (owner|operator)$/.test(caller)
/** Another website can make a browser ask for a page, and sees nothing of the answer. */
const toWebsite = (caller: Caller, method: string) =>
  isForeign(caller) ? !isRead(method) : isPerson(caller) || ['nobody', 'owner', 'operator key: all'].includes(caller)
const toConsole = (caller: Caller, method: string) => toWebsite(caller, method) && !/(owner|lapsed)$/.test(caller)
const FEW: readonly Caller[] = [
  ...(['nobody', 'unknown key', 'operator key: all', 'in a browser: owner', 'from another website: owner'] as const),
]
const few = (caller: Caller) => FEW.includes(caller)

const isOperatorKey = (caller: Caller) => caller.startsWith('operator key') || caller === 'demoted operator'
const isForeign = (caller: Caller) => caller.startsWith('from another website')
const isRead = (method: string) => method === 'GET' || method === 'HEAD'

/** With a key that works, and that is no operator's. */
const KEYS: readonly Caller[] = [
  ...(['owner', 'stranger', 'website key', 'lapsed', 'canceled', 'without subscription'] as const),
  ...(['unlisted plan', 'plan without the model', 'key without the model'] as const),
]
/** Who may not submit, and why. */
const NOT_SUBMITTING: Partial<Record<Caller, number>> = {
  ...{ lapsed: 403, canceled: 403, 'without subscription': 403, 'in a browser: lapsed': 403 },
  ...{ 'plan without the model': 403, 'key without the model': 403 },
}

function byKey(caller: Caller, isForDevelopers: boolean): number | undefined {
  if (KEYS.includes(caller)) return undefined
  if (isOperatorKey(caller)) return 403
  if (caller === 'developer') return isForDevelopers ? undefined : 403
  return 401
}

/** Changes of what another website sends are refused before anything else. */
function inBrowser(caller: Caller, method: string, roles: readonly string[], refusal: number): Outcome | undefined {
  if (isForeign(caller) && !isRead(method)) return 403
  const role = /^(?:in a browser|from another website): (.*)$/.exec(caller)?.[1]
  if (role === undefined || role === 'ended session' || role === 'deleted account') return SIGN_IN
  return roles.includes(role) ? undefined : refusal
}
const PEOPLE = ['owner', 'stranger', 'lapsed', 'operator', 'demoted operator']

/** Of operators' keys: of these scopes. */
const admin =
  (...scopes: readonly string[]): DoorRule['refusal'] =>
  (caller) => {
    const scope = /^operator key: (.*)$/.exec(caller)?.[1]
    if (scope !== undefined) return scopes.includes(scope) ? undefined : 403
    return isOperatorKey(caller) || caller === 'developer' || KEYS.includes(caller) ? 403 : 401
  }

export const DOORS = {
  /** Everybody is let in. */
  anybody: { callers: few, refusal: () => undefined },
  /** Everybody, but not what other websites make a browser send. */
  form: { callers: few, refusal: (caller, method) => (isForeign(caller) && !isRead(method) ? 403 : undefined) },
  /** A private image: its owner, operators, and who has a link to it, which has a test of its own. */
  image: {
    callers: toWebsite,
    refusal: (caller) => (/: (owner|operator)$/.test(caller) ? undefined : 404),
  },
  /** The Personal Access API and MCP. */
  personal: { callers: toInterface, refusal: (caller) => byKey(caller, false), owner: 'owner' },
  submits: { callers: toInterface, refusal: (caller) => NOT_SUBMITTING[caller] ?? byKey(caller, false) },
  /** Create Image, which developers' keys are for, too. */
  createImage: { callers: toInterface, refusal: (caller) => byKey(caller, true) },
  createImageSubmits: { callers: toInterface, refusal: (caller) => NOT_SUBMITTING[caller] ?? byKey(caller, true) },
  /** The website, for people who have signed in; others are sent to sign in. */
  signedIn: {
    callers: toWebsite,
    refusal: (caller, method) => inBrowser(caller, method, PEOPLE, 404),
    owner: 'in a browser: owner',
  },
  signedInSubmits: {
    callers: toWebsite,
    refusal: (caller, method) => NOT_SUBMITTING[caller] ?? inBrowser(caller, method, PEOPLE, 404),
  },
  /** The console: for others there is no such page. */
  operators: { callers: toConsole, refusal: (caller, method) => inBrowser(caller, method, ['operator'], 404) },
  /** /admin/v1, by what a key's scope may change. */
  adminReads: { callers: toInterface, refusal: admin('reads', 'accounts', 'models', 'all') },
  adminAccounts: { callers: toInterface, refusal: admin('accounts', 'all') },
  adminModels: { callers: toInterface, refusal: admin('models', 'all') },
  adminAll: { callers: toInterface, refusal: admin('all') },
  /** Who sends the secret of workers, which has a test of its own. */
  workers: { callers: few, refusal: () => 401 },
  /** Who signs with the secret of the payment provider, likewise. */
  paymentProvider: { callers: few, refusal: () => 400 },
} satisfies Readonly<Record<string, DoorRule>>

export type Door = keyof typeof DOORS
