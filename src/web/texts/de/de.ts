import type { Texts } from '../en/en.js'
import { account } from './account.js'
import { accountExport } from './account-export.js'
import { billing } from './billing.js'
import { gallery } from './gallery.js'
import { home } from './home.js'
import { image } from './image.js'
import { keys } from './keys.js'
import { mails } from './mails.js'
import { parts } from './parts.js'
import { playground } from './playground.js'
import { reference } from './reference.js'
import { signIn } from './sign-in.js'
import { signUp } from './sign-up.js'
import { usage } from './usage.js'
import { webhooks } from './webhooks.js'
import { formats, words } from './words.js'

/** The site in German. */
export const de: Texts = {
  ...formats,
  ...words,
  parts,
  account,
  accountExport,
  billing,
  gallery,
  home,
  image,
  keys,
  mails,
  playground,
  reference,
  signIn,
  signUp,
  usage,
  webhooks,
}
