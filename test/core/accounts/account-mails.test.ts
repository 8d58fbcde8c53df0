import { expect, it } from 'vitest'
import { accountMails } from '../../../src/core/accounts/account-mails.js'
import { mailOrigin } from '../../../src/core/accounts/mail-texts.js'
import { mailTextsOf } from '../../../src/web/texts/texts.js'
import { noLog } from '../../support/fake-ports.js'
import { until } from '../../support/until.js'

/** Mails that a slow mail server takes one by one, as it is told. */
function givenSlowMails() {
  const sent: string[] = []
  const held: (() => void)[] = []
  const mails = accountMails(
    {
      credentials: {
        find: async (name) => ({ accountId: name, username: name, email: name, language: null, passwordHash: null }),
        addLink: async () => new Date(),
        cancelEmail: async () => undefined,
      },
      send: ({ to }) =>
        new Promise((done) => {
          held.push(() => {
            sent.push(to)
            done()
          })
        }),
      counter: { hit: async () => ({ current: 1 }) },
      log: noLog,
    },
    mailOrigin('Easel', 'https://easel.test', mailTextsOf(['en']), undefined),
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
