import { z } from 'zod'
import { type MailChoices, NOTICE_MAILS, type NoticeMail } from '../../../core/accounts/notices.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { useTexts } from '../../texts/texts.js'

/** Which mails the account gets; they go to its confirmed address. */
export const MailSettings = ({ off, email }: { off: readonly NoticeMail[]; email: string | null }) => {
  const { mails: words } = useTexts().account
  return (
    <section id="mails" class="card" aria-labelledby="mails-title">
      <form class="stack" method="post" action="/account/mails">
        <h2 id="mails-title">{words.title}</h2>
        {email === null ? (
          <p>
            {words.none((text) => (
              <a href="#email-address">{text}</a>
            ))}
          </p>
        ) : (
          <>
            <fieldset class="stack events">
              <legend>{words.when}</legend>
              {NOTICE_MAILS.map((mail) => (
                <div key={mail} class="check">
                  <input id={mail} type="checkbox" name="mails" value={mail} checked={!off.includes(mail)} />
                  <label for={mail}>{words.kinds[mail]}</label>
                </div>
              ))}
            </fieldset>
            <button type="submit">{words.save}</button>
          </>
        )}
      </form>
    </section>
  )
}

// As a form sends it: one mail is no list, and none is nothing.
const body = z.object({ mails: z.union([z.array(z.string()), z.string().transform((mail) => [mail])]).catch([]) })

/** Turns mails off and on. */
export function mailSettingsRoutes(app: App, choices: MailChoices): void {
  app.post('/account/mails', { schema: { body } }, async ({ caller, body }, reply) => {
    const off = NOTICE_MAILS.filter((mail) => !body.mails.includes(mail))
    await choices.turnOff(caller.account.id, off)
    return reply.redirect('/account?done=mails', 303)
  })
}
