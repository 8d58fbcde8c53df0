import { describe, expect, it } from 'vitest'
import { accountMails, MailRefused, type SendMail } from '../../../src/core/accounts/account-mails.js'
import { mailOrigin } from '../../../src/core/accounts/mail-texts.js'
import { mailTextsOf } from '../../../src/web/texts/texts.js'
import { noLog } from '../../support/fake-ports.js'
import { until } from '../../support/until.js'

const givenMails = (send: SendMail, pauses?: readonly number[]) =>
  accountMails(
    {
      credentials: {
        find: async (name) => ({ accountId: name, username: name, email: name, language: null, passwordHash: null }),
        addLink: async () => new Date(),
        cancelEmail: async () => undefined,
      },
      send,
      counter: { hit: async () => ({ current: 1 }) },
      log: noLog,
    },
    mailOrigin('Easel', 'https://easel.test', mailTextsOf(['en']), undefined),
    pauses,
  )

/** Mails that a slow mail server takes one by one, as it is told. */
function givenSlowMails() {
  const sent: string[] = []
  const held: (() => void)[] = []
  const mails = givenMails(
    ({ to }) =>
      new Promise((done) => {
        held.push(() => {
          sent.push(to)
          done()
        })
      }),
  )
  return { mails, sent, held }
}

it('strangers who ask for many links keep back neither the mails of an account nor a link for another network', async () => {
  const { mails, sent, held } = givenSlowMails()
  for (let n = 0; n < 100; n++) mails.sendSignInLink(`flood${n}@mail.test`, 'en', ['a', 'a', 'a'])
  await until(async () => held.length === 8, 'as many at once as may be')
  await mails.sendConfirmation('ann', 'ann@mail.test', 'en')
  mails.sendSignInLink('bob@mail.test', 'en', ['b', 'b', 'b'])
  // By then both wait, too.
  await new Promise(setImmediate)
  for (let taken = 0; taken < 14; taken++) {
    await until(async () => held.length > 0, 'the next mail')
    held.shift()?.()
  }
  await until(async () => sent.length === 14, 'the first ones')
  expect(sent).toEqual(expect.arrayContaining(['ann@mail.test', 'bob@mail.test']))
})

describe('a mail that the server does not take', () => {
  /** A mail server that fails so often, and then takes everything. */
  function givenFaults(faults: readonly Error[], pauses: readonly number[]) {
    const left = [...faults]
    let tries = 0
    const sent: string[] = []
    const mails = givenMails(async ({ to }) => {
      tries++
      const fault = left.shift()
      if (fault) throw fault
      sent.push(to)
    }, pauses)
    return { mails, sent, tries: () => tries }
  }
  const LATER = new Error('451 try again later')

  it('now is sent later', async () => {
    const { mails, sent } = givenFaults([LATER, LATER, LATER], [1, 1, 1])
    mails.sendSignInLink('ann@mail.test', 'en', ['a'])
    await until(async () => sent.length === 1, 'the mail')
  })

  it('at the last try is given up', async () => {
    const { mails, sent, tries } = givenFaults([LATER, LATER, LATER, LATER], [1, 1])
    mails.sendSignInLink('ann@mail.test', 'en', ['a'])
    await until(async () => tries() === 3, 'three tries')
    await mails.stop()
    expect([tries(), sent]).toEqual([3, []])
  })

  it('for good is not sent again', async () => {
    const { mails, tries } = givenFaults([new MailRefused('550 nobody of that name')], [1, 1])
    mails.sendSignInLink('ann@mail.test', 'en', ['a'])
    await mails.stop()
    expect(tries()).toBe(1)
  })

  it('keeps no place while it waits, and no server from stopping', async () => {
    const { mails, sent, tries } = givenFaults(
      Array.from({ length: 20 }, () => LATER),
      [3_600_000],
    )
    for (let n = 0; n < 20; n++) mails.sendSignInLink(`flood${n}@mail.test`, 'en', ['a'])
    await until(async () => tries() === 20, 'the first try of each')
    await mails.sendConfirmation('bob', 'bob@mail.test', 'en')
    await until(async () => sent.includes('bob@mail.test'), 'the mail of another one')
    await mails.stop()
    expect(sent).toHaveLength(21)
  })
})
