import type { ComponentChildren } from 'preact'

/** Signing in: with a password, a link, or through an identity provider. */
export const signIn = {
  sent: (minutes: number): string =>
    `If there is an account with that name or address, a link is on its way. It works once, and ends in ${minutes} minutes.`,
  name: 'Username or email',
  password: 'Password',
  withoutPassword: 'No password, or forgotten?',
  mail: 'Email me a link',
  /** @param host the identity provider's */
  at: (host: string): string => `Sign in with ${host}`,
  askOperator: 'No password, or forgotten? Ask the operator of this site for a link.',
  noCookies: 'Your browser keeps no cookies from this site, so nobody can be signed in: allow them, then sign in.',
  isNew: 'New here?',
  createAccount: 'Create an account',
  link: {
    welcome: (site: ComponentChildren): ComponentChildren => <>Welcome to {site}</>,
    press: (username: ComponentChildren): ComponentChildren => (
      <>Press the button to sign in as {username} with this browser. The link works once.</>
    ),
    password: {
      title: 'Set a new password',
      label: 'New password',
      /** Behind how long it must be. */
      hint: ', or nothing, to keep the one that you have. A new one signs you out everywhere else.',
    },
  },
  signedOut: {
    title: 'You are signed out',
    /** @param host the identity provider's */
    stillThere: (host: string): string =>
      `At ${host} you are still signed in: whoever uses this browser may sign in with it again without a password.`,
    there: (host: string): string => `Sign out at ${host}, too`,
  },
  problems: {
    wrong: 'That name and password do not belong together. Check both, or ask for a link.',
    tooMany: 'Too many tries to sign in. Wait a quarter of an hour, or ask for a link.',
    tooManyMails: 'Too many links were asked for from here. Wait a quarter of an hour.',
    noPasswords: 'Passwords are not used on this site. Sign in another way.',
    noName: 'Fill in your username or email first.',
    linkOver: 'This link was used before or is too old. Ask for a new one.',
    notBegun: 'This sign-in was not begun in this browser, or took too long. Begin again.',
  },
  /** Why nobody was signed in at the identity provider. */
  failures: {
    refused: (host: string): string => `${host} did not sign you in. Begin again, or sign in another way.`,
    away: (host: string): string => `${host} does not answer. Sign in another way, or try again in a moment.`,
    setup: (host: string): string =>
      `Signing in with ${host} is not set up correctly. Sign in another way, or ask the operator.`,
  },
  /** Why nobody here is who signed in at the identity provider. */
  lacks: {
    address: (host: string): string => `${host} told us no email address of yours that we can use. Ask the operator.`,
    verification: (host: string): string =>
      `${host} does not say that your email address is verified, so we do not know which account is yours. Have it verified there, or ask the operator.`,
    account: (host: string): string => `No account here belongs to your sign-in at ${host}. Ask the operator for one.`,
  },
}
