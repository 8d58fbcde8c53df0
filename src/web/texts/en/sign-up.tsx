import type { ComponentChildren } from 'preact'
import { words } from './words.js'

/** Making an account, confirming its address, and what comes next. */
export const signUp = {
  title: 'Create an account',
  username: 'Username',
  email: 'Email',
  emailHint: 'We send a link there to confirm that it is yours.',
  password: 'Password',
  /** Behind how long it must be. */
  passwordHint: '; a few words make a good one.',
  submit: 'Create account',
  haveOne: 'You have one?',
  problems: {
    noEmail: 'That is no email address. Check it.',
    taken: 'Somebody has this username. Choose one that does not look like it.',
    tooMany: 'Too many accounts were made from here. Wait an hour.',
  },
  confirm: {
    title: 'Confirm your address',
    /** @param before the address that the account has now; null: none */
    what: (username: ComponentChildren, before: ComponentChildren): ComponentChildren => (
      <>
        The account {username} gets the address that this link was sent to{before && <>, in place of {before}</>}.
      </>
    ),
    submit: 'Confirm',
    account: 'Go to your account',
    problems: {
      over: 'This link was used before, is too old, or was sent for another account. Have a new one sent from your account.',
      taken: 'Another account has this address. Sign in to that one, or use another address.',
    },
  },
  welcome: {
    title: 'Welcome',
    heading: 'Your account is ready',
    signedIn: (username: ComponentChildren): ComponentChildren => (
      <>You are signed in as {username}. This comes next:</>
    ),
    address: {
      step: 'Confirm your address.',
      done: (email: ComponentChildren): ComponentChildren => <>Done: links to sign in go to {email}.</>,
      notYet: (email: ComponentChildren): ComponentChildren => <>{email} is not confirmed yet.</>,
      again: 'Send it again, or change the address',
      set: 'Set your address',
    },
    plan: {
      step: 'Get a plan.',
      yours: (plan: ComponentChildren, credits: number): ComponentChildren => (
        <>
          You have the plan {plan} and {words.credits(credits)}.
        </>
      ),
      needed: 'Making images needs one.',
      see: 'See the plans',
      ask: 'Making images needs one: ask the operator of this site.',
    },
    image: {
      step: 'Make your first image.',
      how: 'Write what it should show, choose a model and press Generate.',
    },
    create: 'Go to Create',
  },
}
