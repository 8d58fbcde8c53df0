/** The fields in which people name themselves, wherever a form asks for them. */
import { PASSWORD_LENGTH } from '../../core/accounts/password.js'
import { MAX_EMAIL_LENGTH } from '../../lib/email-address.js'
import { useTexts } from '../texts/texts.js'
import { Field } from './page-parts.js'

interface FieldProps {
  readonly label: string
  readonly value?: string | undefined
}

/** @param maxLength longer where an address may stand for the name */
export const UsernameField = ({ label, value, maxLength = 64 }: FieldProps & { readonly maxLength?: number }) => (
  <Field
    id="username"
    label={label}
    value={value}
    autocomplete="username"
    autocapitalize="none"
    spellcheck={false}
    maxlength={maxLength}
    required
  />
)

interface EmailFieldProps {
  readonly label?: string
  readonly value?: string | undefined
  /** What it is for. */
  readonly hint?: string | undefined
}

export const EmailField = ({ label, value, hint }: EmailFieldProps) => (
  <Field
    id="email"
    label={label ?? useTexts().account.fields.email}
    type="email"
    value={value}
    autocomplete="email"
    maxlength={MAX_EMAIL_LENGTH}
    hint={hint}
    required
  />
)

/**
 * How somebody comes by the link that confirms an address; while a page is rendered.
 * @param sendsMail whether there is a mail server
 */
export const waysToConfirm = (sendsMail: boolean): string =>
  useTexts().account.fields[sendsMail ? 'openLink' : 'askForLink']

interface PasswordProps {
  readonly label: string
  readonly id?: string
  readonly name?: string
  readonly required?: boolean
  readonly autofocus?: boolean
}

/** For the password that the account has. */
export const PasswordField = ({
  label,
  id = 'password',
  name = id,
  required = true,
  autofocus = false,
}: PasswordProps) => (
  <Field
    {...{ id, name, label, required, autofocus }}
    type="password"
    autocomplete="current-password"
    maxlength={PASSWORD_LENGTH.max}
  />
)

/** For password managers, which keep a password with the name that a form shows or hides, but not with a hidden input. */
export const OwnName = ({ username }: { readonly username: string }) => (
  <input type="text" name="username" autocomplete="username" value={username} readonly hidden />
)

interface NewPasswordProps extends Omit<FieldProps, 'value'> {
  readonly name: string
  /** Behind how long it must be. */
  readonly hint: string
  readonly required?: boolean
}

export const NewPasswordField = ({ label, name, hint, required = true }: NewPasswordProps) => (
  <Field
    id={name}
    label={label}
    type="password"
    autocomplete="new-password"
    minlength={PASSWORD_LENGTH.min}
    maxlength={PASSWORD_LENGTH.max}
    hint={`${useTexts().account.fields.atLeast(PASSWORD_LENGTH.min)}${hint}`}
    required={required}
  />
)

/** A secret that is shown once, to be copied. */
export const SecretField = ({ id, label, value }: { id: string; label: string; value: string }) => (
  <div class="field">
    <label for={id}>{label}</label>
    <div class="beside">
      <input id={id} class="mono" value={value} readonly autofocus autocomplete="off" spellcheck={false} />
      <button class="primary" type="button" data-copy={`#${id}`}>
        {useTexts().parts.copy}
      </button>
    </div>
  </div>
)
