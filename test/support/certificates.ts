import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram, install } from './programs.js'

export interface Certificate {
  /** PEM. */
  readonly cert: string
  readonly key: string
}

const CONFIG = `
[ca]
default_ca = any
[any]
new_certs_dir = .
database = index
rand_serial = yes
default_md = sha256
policy = policy
[policy]
commonName = supplied
[req]
distinguished_name = names
[names]
`

/**
 * Makes a certificate with openssl, for this host and valid for a year, unless told otherwise.
 * @param options.by who signs it: itself, unless given @param options.days from when to when it is valid, from now
 */
export async function makeCertificate(
  host: string,
  { by, days: [from, to] = [-1, 365] }: { readonly by?: Certificate; readonly days?: readonly [number, number] } = {},
): Promise<Certificate> {
  if (!findProgram('openssl')) await install('openssl')
  const directory = await mkdtemp(join(tmpdir(), 'easel-certificate-'))
  const openssl = (...args: string[]) => promisify(execFile)('openssl', args, { cwd: directory })
  const write = (name: string, text: string) => writeFile(join(directory, name), text)
  const time = (days: number) => `${new Date(Date.now() + days * 86_400_000).toISOString().replace(/[-:T]|\..*/g, '')}Z`
  try {
    await write('config', CONFIG)
    await write('index', '')
    const name = /^[\d.]+$/.test(host) ? `IP:${host}` : `DNS:${host}`
    await write('names', `subjectAltName=${name}\nbasicConstraints=CA:TRUE`)
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', 'key']
    await openssl('req', '-new', '-config', 'config', ...key, '-out', 'request', '-subj', `/CN=${host}`)
    if (by) await Promise.all([write('ca.cert', by.cert), write('ca.key', by.key)])
    await openssl(
      ...['ca', '-batch', '-notext', '-config', 'config', '-in', 'request', '-out', 'cert', '-extfile', 'names'],
      ...['-startdate', time(from), '-enddate', time(to)],
      ...(by ? ['-cert', 'ca.cert', '-keyfile', 'ca.key'] : ['-selfsign', '-keyfile', 'key']),
    )
    const read = (file: string) => readFile(join(directory, file), 'utf8')
    return { cert: await read('cert'), key: await read('key') }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
