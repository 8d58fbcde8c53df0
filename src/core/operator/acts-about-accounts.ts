/** How the words of each act begin whose target is an account's name. The target of any other may be spelt like one. */
export const ABOUT_ACCOUNTS = [
  'created user',
  'deleted user',
  ...['created personal key', 'created developer key', 'created operator key', 'changed key', 'revoked key'],
  ...['granted ', 'corrected the credits', 'rotated webhook secret', 'ended all sessions', 'matched customer'],
  ...['marked refused prompt', 'changed the email address', 'removed the email address', 'set the password'],
  ...['made an operator', 'made a subscriber', 'made a sign-in link'],
  ...['set the subscription', 'took the subscription away', 'replaced the subscription'],
] as const

export const isAboutAccount = (action: string): boolean => ABOUT_ACCOUNTS.some((words) => action.startsWith(words))
