import { afterAll, describe, expect, it } from 'vitest'
import { hashToken, newToken } from '../../src/core/accounts/session.js'
import { operatorUserStore } from '../../src/db/accounts/accounts.js'
import { credentialStore } from '../../src/db/accounts/sessions.js'
import { givenUser } from '../support/givens.js'
import { type Mailbox, startMailbox } from '../support/mailbox.js'
import { useService } from '../support/service.js'
import { givenEndedGeneration } from '../support/stand-in-worker.js'
import { until } from '../support/until.js'
import { textOf, visit } from '../support/website-client.js'

/** With what HTML and mail addresses must write differently. */
const NAME = 'Atelier "K" & <Söhne>'

let mailbox: Mailbox
const context = useService(async () => {
  mailbox = await startMailbox()
  return { env: { SITE_NAME: NAME, SMTP_URL: `smtp://127.0.0.1:${mailbox.port}` } }
})
afterAll(() => mailbox.close())

const get = (path: string) => visit(context.service.url, path)
const raw = (path: string) => fetch(context.service.url + path).then((answer) => answer.text())

describe('an installation with a name of its own', () => {
  it.each(['/', '/sign-in', '/docs', '/no-such-page'])('%s has it in its title and its header', async (path) => {
    const { html } = await get(path)
    const [, title = ''] = /<title>(.*?)<\/title>/.exec(html) ?? []
    expect(textOf(title)).toMatch(/^.+ · Atelier "K" & <Söhne>$/)
    const [, brand = ''] = /<a class="brand"[^>]*>(.*?)<\/a>/.exec(html) ?? []
    expect(textOf(brand)).toBe(NAME)
    // The client is the software's.
    expect(textOf(html).replaceAll('createEasel', '')).not.toContain('Easel')
  })

  it('welcomes with it who opens a link to sign in', async () => {
    const { db } = context.service
    const token = newToken()
    await credentialStore(db).addLink((await givenUser(db)).id, hashToken(token))
    expect(textOf((await get(`/sign-in/link?token=${token}`)).html)).toContain(`Welcome to ${NAME}`)
  })

  it('says it on an image’s page, to strangers and to where its link is shared', async () => {
    const { db } = context.service
    const { slugs } = await givenEndedGeneration(db, await givenUser(db), {})
    const { html } = await get(`/image/${slugs[0]}`)
    expect(textOf(html)).toContain(`Make your own with ${NAME}`)
    const [, shared = ''] = /property="og:site_name" content="([^"]*)"/.exec(html) ?? []
    expect(textOf(shared)).toBe(NAME)
    expect(html).not.toContain('Easel')
  })

  it('describes its API by it', async () => {
    expect(JSON.parse(await raw('/openapi.json')).info.title).toBe(NAME)
    expect(await raw('/llms.txt')).toMatch(/^# Atelier "K" & <Söhne>\n/)
    expect(await raw('/docs.md')).toMatch(/^# Atelier "K" & <Söhne>: API reference\n/)
  })

  it('tells it to agents', async () => {
    const { url, db } = context.service
    const { key } = await givenUser(db)
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    const answer = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    })
    const { result } = (await answer.json()) as { result: { serverInfo: { title: string }; instructions: string } }
    expect(result.serverInfo.title).toBe(NAME)
    expect(result.instructions.startsWith(`${NAME} draws images`)).toBe(true)
  })

  it('sends its mails by it', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    await operatorUserStore(db).setEmail(user.id, 'reader@mail.test')
    await visit(url, '/sign-in/mail', { body: { username: user.username } })
    await until(async () => mailbox.received.length === 1, 'the mail')
    const text = mailbox.received[0]?.text ?? ''
    expect(text).toMatch(/^From: .*<no-reply@easel\.test>\r$/m)
    expect(text).not.toMatch(/Easel/)
    const encoded = /^Subject: ((?:.*\r\n )*.*)\r$/m.exec(text)?.[1] ?? ''
    expect(encoded).toContain('Atelier')
    expect(text).toContain('this link signs you in to Atelier "K" & <S')
  })
})
