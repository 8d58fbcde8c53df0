import { describe, expect, it } from 'vitest'
import { usernameFrom, usernameProblem } from '../../../src/core/accounts/username.js'

const RESERVED = 'for somebody who runs this site'
const DOMAIN = 'looks like a web address'
const WORDS = 'has at most 3 words'
const SHAPE = 'That cannot be a username.'

const refused: readonly (readonly [string, readonly string[]])[] = [
  [
    RESERVED,
    [
      ...['admin', 'Admin', 'ADMIN', 'administrator', 'root', 'operator', 'operators', 'moderator', 'support', 'staff'],
      ...[
        'easel',
        'Easel',
        'EaselSupport',
        'easel-team',
        'easel_official',
        'official-easel',
        'the-operator',
        'theadmin',
      ],
      ...[
        'a.d-m_i.n',
        'adm1n',
        '4dmin',
        'r00t',
        'supp0rt',
        '5upport',
        'admin1',
        'admin-2',
        '007-admin',
        'admin_',
        'adrnin',
      ],
      ...[
        'ROOT',
        'rO0t',
        'bob-admin',
        'bob_from_support',
        'SupportBob',
        'bil1ing',
        'e4sel',
        'ease1',
        'EASEL',
        'h3lpdesk',
      ],
      ...[
        'system',
        'webmaster',
        'no-reply',
        'noreply',
        'mailer-daemon',
        'postmaster',
        'abuse',
        'security',
        'help',
        'www',
      ],
      ...[
        'superadmin',
        'siteadmin',
        'SUPERADM1N',
        'aliceadmin',
        'techsupport',
        'websupp0rt',
        'forummoderators',
        'siteoperator',
      ],
      ...['customer-service', 'CustomerSupport', 'customerservice', 'sysop', 'moderation', 'moderation-team'],
      // Letters more often, digits between words, letters drawn like others.
      ...[
        'suppport',
        'supporttt',
        'addmin',
        'aadmin',
        'addminn',
        'staaff',
        'offficial',
        'rooot',
        'eassel',
        'Moderatorr',
      ],
      ...['easel24support', 'support4you', 'admin2024team', 'official.1.2', 'adnnin', 'aclmin', 'mocleratoor'],
      ...['eazel', 'eazel-team', 'le6al', 'leqal', 'ztaff', 'secur1ty', '1egal', 'tru5t-safety'],
      ...['trust_safety', 'TrustSafety', 'trust-safety', 'safety-team', 'verified', 'verified-staff', 'community-team'],
      ...[
        'easel-support',
        'easelsupport1',
        'myeaselsupport',
        'easel_official',
        'iam-official',
        'theeaselteam',
        'xeaselteamx',
      ],
      ...[
        'supportagent',
        'supportdesk',
        'adminchat',
        'support-line',
        'chiefmoderator',
        'officialaccount',
        'billingdepartment',
      ],
      ...[
        'deleted-3f9a2bc04d11e2a7',
        'Deleted-0',
        'deleted_user',
        'de1eted-00',
        'deletedaccount',
        'removed',
        'd3leted_x',
      ],
      ...[
        'gallery',
        'Playground',
        'keys',
        'docs',
        'open-api',
        'sign-out',
        'usage',
        'v1',
        'webhooks',
        'up-next',
        'cdn',
        'MCP',
      ],
      ...['command-line', 'CommandLine', 'null', 'nobody', 'the-team', 'payments', 'system-service', 'login'],
    ],
  ],
  [
    DOMAIN,
    [
      ...['evil.com', 'Evil.COM', 'free.credits.example', 'paypal.shop', 'a.co', 'evil.com-now', 'evil.com.1', 'x.zip'],
      ...['192.168.0.1', '1.1', 'xn--bcher-kva.ch', 'a-xn--p1ai', 'bob.evil.de_', 'bob.smith'],
    ],
  ],
  [
    WORDS,
    [
      'your-account-is-locked',
      'Your_account_is_locked',
      'YourAccountWasHacked',
      'call-me-now-please-555',
      'YOUR-ACCOUNT-IS-LOCKED',
      'you_have-won_a-prize',
    ],
  ],
  [
    SHAPE,
    [
      ...[
        '',
        '-a',
        '.a',
        'a b',
        'alice@mail',
        'a+b',
        '\u0430lice',
        'al\u200bice',
        'alice\u00ad',
        'ali\u0301ce',
        'ａlice',
      ],
      ...['a\0', 'a\n', 'x'.repeat(65), 'аdmin', '<b>', 'al\u2024ice', '\u202eecila'],
    ],
  ],
]

describe('a name that people give themselves', () => {
  it.each(refused)('is refused, since it %s', (sentence, names) => {
    for (const name of names)
      expect([name, usernameProblem(name) ?? 'fine']).toEqual([name, expect.stringContaining(sentence)])
  })

  it('may be any other one', () => {
    const names = [
      ...[
        'alice',
        'Alice',
        'bob-smith',
        'bob_smith',
        'BobSmith',
        'j.r.r',
        'a1b2c3',
        'x',
        '7',
        'anna1985',
        'the-same-word',
      ],
      ...[
        'weasel',
        'easeltine',
        'adminka2',
        'rooter',
        'modest',
        'systematic',
        'teamwork',
        'mailin',
        'user',
        'user-3',
        'bot-any',
      ],
      ...['John-Paul-II', 'McDonald', 'v1.0b', 'x'.repeat(64), '3f9a2bc04d', 'Robot', 'Allan', 'helping-hand', 'theo'],
      ...[
        'rot-weiss',
        'Rott',
        'boot',
        'mood',
        'matt',
        'anna',
        'aaron',
        'lee',
        'Otto',
        'Ross',
        'stafford',
        'deleon',
        'delete-me',
      ],
      ...[
        'cloud',
        'clara',
        'gina',
        'hannnah',
        'uwe',
        'image-maker',
        'key-lime',
        'galleryghost',
        'pressley',
        'trusty',
        'safetypin',
      ],
      ...[
        'imager',
        'modeler',
        'usagi',
        'docsavage',
        'homer',
        'model-t',
        'newton',
        'teamrocket',
        'mediamarkus',
        'easelyn',
      ],
      ...['badminton', 'supporting', 'operatic', 'opera', 'customs'],
    ]
    for (const name of names) expect([name, usernameProblem(name)]).toEqual([name, undefined])
  })
})

it.each([
  ['alice', 'alice'],
  ['Zoë Q@mail.test', 'ZoeQ'],
  ['bob.smith@corp.example', 'bob-smith'],
  ['evil.com', 'evil-com'],
  ['admin', 'user'],
  ['deleted-3f9a2bc04d11e2a7@mail.test', 'user'],
  ['Suppport', 'user'],
  ['Easel Support', 'user'],
  ['\u0430dmin\u200b', 'dmin'],
  ['Maria Anna Josefa Müller', 'Maria-Anna-Josefa'],
  ['名前', 'user'],
  ['', 'user'],
  ['a'.repeat(70), 'a'.repeat(64)],
])('of %j elsewhere a name here is %j', (text, name) => {
  expect(usernameFrom([text])).toBe(name)
})

it('is that of the address where the name has no Latin letters', () => {
  expect(usernameFrom(['王伟', 'wei.wang@corp.example'])).toBe('wei-wang')
  expect(usernameFrom([undefined, 'wei@corp.example'])).toBe('wei')
})

it.each([
  ['Pixel Farm', 'pixelfarm', true],
  ['Pixel Farm', 'P1xel_Farm', true],
  ['Pixel Farm', 'pixelfarm2', true],
  ['Pixel Farm', 'PixelFarmTeam', true],
  ['Pixel Farm', 'the-pixel-farm', true],
  ['Pixel Farm', 'pixelfarmer', false],
  ['Pixel Farm', 'farm', false],
  ['Künstlerei (Beta+)', 'kunstlereibeta', true],
  ['名前', 'alice', false],
])('on a site that is called %j the name %j is reserved: %s', (site, name, isReserved) => {
  expect(usernameProblem(name, site) !== undefined).toBe(isReserved)
})
