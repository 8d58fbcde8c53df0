import { PassThrough, Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { passwordReader } from '../../src/cli/terminal-input.js'
import { isPassword } from '../../src/core/accounts/password.js'
import { credentialStore } from '../../src/db/accounts/sessions.js'
import { useEasel } from './easel.js'

const easel = useEasel()

describe('user password', () => {
  it('takes a long enough password that is not the username, and keeps a hash of it', async () => {
    await easel.json('user create erin-the-user')
    const set = (password: string) => easel.run('user password erin-the-user', {}, password)
    expect((await set('a few good words')).stdout).toBe(
      'erin-the-user has a new password, and every session has ended.\n',
    )
    const stored = await credentialStore(easel.db).find('erin-the-user')
    expect(await isPassword('a few good words', stored?.passwordHash)).toBe(true)
    expect((await set('short')).stderr).toBe('error: A password has 10 to 200 characters. Choose another one.\n')
    expect((await set('Erin-the-User')).stderr).toMatch(/^error: The password must not be the username/)
  })
})

describe('a password at the command line', () => {
  const read = (typed: string | Buffer, isTTY = false) => {
    const input = Object.assign(new PassThrough(), { isTTY })
    let shown = ''
    const prompts = new Writable({
      write(chunk, _encoding, done) {
        shown += chunk
        // A person types when asked.
        if (isTTY && String(chunk).endsWith(': '))
          input.write(`${String(typed).split('\n')[shown.split(': ').length - 2]}\n`)
        done()
      },
    })
    if (!isTTY) input.end(typed)
    return passwordReader(input, prompts)().then((password) => ({ password, shown }))
  }

  it('is the first line of what is piped in', async () => {
    for (const typed of [
      'a few good words\n',
      'a few good words',
      'a few good words\r\nmore\n',
      '\ufeffa few good words\r\n',
    ])
      expect(await read(typed)).toEqual({ password: 'a few good words', shown: '' })
    await expect(read('')).rejects.toThrow('No password was given')
    for (const other of [Buffer.from('größere Wörter\n', 'latin1'), Buffer.from('größere Wörter\n', 'utf16le')])
      await expect(read(other)).rejects.toThrow('The password is not text in UTF-8')
  })

  it('is asked for twice of a person, and never shown', async () => {
    expect(await read('open sesame\nopen sesame', true)).toEqual({
      password: 'open sesame',
      shown: 'Password: \nOnce more: \n',
    })
    await expect(read('open sesame\nopen sesami', true)).rejects.toThrow('The two passwords differ')
  })
})
