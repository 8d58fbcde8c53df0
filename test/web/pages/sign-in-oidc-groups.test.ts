import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { operatorUserStore } from '../../../src/db/accounts/accounts.js'
import { givenUser } from '../../support/givens.js'
import { CLIENT, type OidcServer, startOidc, wayThrough } from '../../support/oidc-server.js'
import { useService } from '../../support/service.js'
import { visit } from '../../support/website-client.js'

let oidc: OidcServer

const context = useService(async () => {
  oidc = await startOidc()
  const provider = { OIDC_ISSUER: oidc.issuer, OIDC_CLIENT_ID: CLIENT.id, OIDC_CLIENT_SECRET: CLIENT.secret }
  return { env: { ...provider, OIDC_OPERATOR_GROUP: 'easel-operators', SIGN_UP: 'open' } }
})
afterAll(() => oidc.close())
beforeEach(() => {
  oidc.idToken = {}
})

const IN_GROUP = { groups: ['staff', 'easel-operators'] }
const ELSEWHERE = { groups: ['staff'] }

/** Somebody with an account, whom the provider knows. */
async function givenPerson() {
  const user = await givenUser(context.service.db)
  const email = `${user.username}@mail.test`
  await operatorUserStore(context.service.db).setEmail(user.id, email)
  return { ...user, email }
}
type Known = Awaited<ReturnType<typeof givenPerson>>

/** Signs them in with these claims, and resolves to the cookie of their session. */
async function signIn(person: Pick<Known, 'id' | 'email'>, claims: object, url = context.service.url) {
  oidc.person = { sub: `sub-${person.id}`, email: person.email, email_verified: true, ...claims }
  const { location, cookie } = await visit(url, '/sign-in/oidc')
  const back = await wayThrough(oidc.issuer, location as string)
  const answer = await visit(url, back.replace('http://easel.test', ''), { cookie })
  const set = answer.headers.getSetCookie().find((it) => it.startsWith('easel='))
  return { status: answer.status, cookie: set?.split(';')[0] }
}

const consoleOf = async ({ cookie }: { readonly cookie: string | undefined }) =>
  (await visit(context.service.url, '/operator', { cookie })).status

async function actsOn({ username }: Pick<Known, 'username'>) {
  const { rows } = await context.service.db.pool.query(
    'SELECT actor, action, reason FROM operator_actions WHERE target = $1 ORDER BY id',
    [username],
  )
  return rows
}

const byProvider = (action: string, reason: string) => ({ actor: 'identity provider', action, reason })
const GIVEN = byProvider('made an operator', 'signed in with the group of OIDC_OPERATOR_GROUP')
const TAKEN = byProvider('made a subscriber', 'signed in without the group of OIDC_OPERATOR_GROUP')

describe('who signs in with the group of operators', () => {
  it('is an operator from then on, and no longer after signing in without it; both are recorded once', async () => {
    const person = await givenPerson()
    expect(await consoleOf(await signIn(person, ELSEWHERE))).toBe(404)
    const first = await signIn(person, IN_GROUP)
    expect([first.status, await consoleOf(first), await consoleOf(await signIn(person, IN_GROUP))]).toEqual([
      303, 200, 200,
    ])
    expect(await actsOn(person)).toEqual([GIVEN])
    const last = await signIn(person, {})
    expect([await consoleOf(last), await consoleOf(first)]).toEqual([404, 404])
    await signIn(person, {})
    expect(await actsOn(person)).toEqual([GIVEN, TAKEN])
  })

  it('is one with the group in the ID token, too, or as the only one', async () => {
    const person = await givenPerson()
    oidc.idToken = { groups: 'easel-operators' }
    expect(await consoleOf(await signIn(person, {}))).toBe(200)
  })

  it('is one from the first sign-in on where that makes the account', async () => {
    const session = await signIn({ id: 'newcomer', email: 'newcomer@mail.test' }, IN_GROUP)
    expect(await consoleOf(session)).toBe(200)
    expect(await actsOn({ username: 'newcomer' })).toEqual([GIVEN])
  })

  it('gets it once, however many windows they sign in from', async () => {
    const person = await givenPerson()
    await signIn(person, ELSEWHERE)
    await Promise.all(Array.from({ length: 5 }, () => signIn(person, IN_GROUP)))
    expect(await actsOn(person)).toEqual([GIVEN])
  })

  it('keeps it while the provider cannot say who is in the group: nobody is signed in then', async () => {
    const person = await givenPerson()
    const session = await signIn(person, IN_GROUP)
    oidc.userInfoFails = true
    try {
      expect(await signIn(person, IN_GROUP)).toEqual({ status: 503, cookie: undefined })
    } finally {
      oidc.userInfoFails = false
    }
    expect(await consoleOf(session)).toBe(200)
  })

  it('is not one if the claim is anything else than the exact name', async () => {
    const person = await givenPerson()
    const claims = ['Easel-Operators', 'easel-operators ', 'staff,easel-operators', [['easel-operators']], { 0: 1 }, 7]
    for (const groups of claims) expect(await consoleOf(await signIn(person, { groups }))).toBe(404)
    expect(await actsOn(person)).toEqual([])
  })
})

describe('a role that was given by hand', () => {
  it('stays without the group, whether it was given before or after that of the group', async () => {
    const users = operatorUserStore(context.service.db)
    const person = await givenPerson()
    await users.setRole(person.id, 'operator')
    for (const claims of [ELSEWHERE, IN_GROUP, ELSEWHERE])
      expect(await consoleOf(await signIn(person, claims))).toBe(200)
    expect(await actsOn(person)).toEqual([])

    const other = await givenPerson()
    await signIn(other, IN_GROUP)
    await users.setRole(other.id, 'operator')
    expect(await consoleOf(await signIn(other, ELSEWHERE))).toBe(200)
  })

  it('ends a role of the group at once, until the next sign-in with it', async () => {
    const person = await givenPerson()
    const session = await signIn(person, IN_GROUP)
    await operatorUserStore(context.service.db).setRole(person.id, 'subscriber')
    expect(await consoleOf(session)).toBe(404)
    expect(await consoleOf(await signIn(person, IN_GROUP))).toBe(200)
    expect(await consoleOf(await signIn(person, ELSEWHERE))).toBe(404)
  })

  it('is told apart from one of the group in the console', async () => {
    const person = await givenPerson()
    const { cookie } = await signIn(person, IN_GROUP)
    const page = () => visit(context.service.url, `/operator/users/${person.username}`, { cookie })
    expect((await page()).html).toContain('operator, by a group of the identity provider')
    await operatorUserStore(context.service.db).setRole(person.id, 'operator')
    expect((await page()).html).not.toContain('by a group')
  })
})

it('gives and takes nothing without OIDC_OPERATOR_GROUP', async () => {
  const { url } = await context.service.server({}, { OIDC_OPERATOR_GROUP: '' })
  const [member, other] = [await givenPerson(), await givenPerson()]
  expect(await consoleOf(await signIn(member, IN_GROUP, url))).toBe(404)
  await signIn(other, IN_GROUP)
  expect(await consoleOf(await signIn(other, ELSEWHERE, url))).toBe(200)
  expect([await actsOn(member), await actsOn(other)]).toEqual([[], [GIVEN]])
})
