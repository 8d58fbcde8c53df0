import { isIP } from 'node:net'
import { invalidParameter } from '../errors.js'
import type { WebhookTargets } from '../webhooks/ports.js'
import type { AddressPolicy } from './address-policy.js'

export interface TargetOptions {
  readonly policy: AddressPolicy
  readonly allowHttp: boolean
}

const MAX_LENGTH = 2048
/** Below it are services that must not be sent requests, but for the web's own. */
const LEAST_PORT = 1024
const WEB_PORTS = ['', '80', '443']
/** Names that mean something on the inside of a network only. */
const INSIDE = /(^|\.)(localhost|localdomain|local|internal|intranet|lan|home|corp|private|test|invalid|arpa)$/

/** What the URL parser has made of the host: numbers in any notation are plain addresses by then. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '')

/** Judges addresses by their spelling, so that a mistake is told when it is made. */
export const webhookTargets = ({ policy, allowHttp }: TargetOptions): WebhookTargets => ({
  require(text, parameter) {
    const refuse = (what: string) => invalidParameter(parameter, `${parameter} ${what}`)
    if (text.length > MAX_LENGTH) throw refuse(`must have at most ${MAX_LENGTH} characters.`)
    const url = URL.canParse(text) ? new URL(text) : undefined
    const schemes = allowHttp ? ['https:', 'http:'] : ['https:']
    if (!url || !schemes.includes(url.protocol))
      throw refuse(`must be a URL that begins with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}.`)
    if (url.username || url.password)
      throw refuse('must not hold a user or a password: put a secret into its path or query.')
    if (!WEB_PORTS.includes(url.port) && Number(url.port) < LEAST_PORT)
      throw refuse(`must use port 443, 80, or one from ${LEAST_PORT} up.`)
    const host = hostOf(url)
    if (isIP(host) ? !policy.allows(host) : !isOutside(host, policy))
      throw refuse('must point to a public address: this one is inside a network.')
    url.hash = ''
    return url
  },
})

const isOutside = (name: string, policy: AddressPolicy): boolean =>
  policy.hasInside || (name.includes('.') && !INSIDE.test(name))
