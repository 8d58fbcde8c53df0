import { z } from 'zod'
import type { SessionStore } from '../../../core/accounts/session.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { LANGUAGES, type Language, textsIn, useTexts } from '../../texts/texts.js'

interface LanguageFormProps {
  readonly offered: readonly Language[]
  /** Null: as the browser says. */
  readonly chosen: string | null
}

/** In which language the account reads the site. */
export const LanguageForm = ({ offered, chosen }: LanguageFormProps) => {
  const { language: words } = useTexts().account
  return (
    <section class="card" aria-labelledby="language-title">
      <form class="stack" method="post" action="/account/language">
        <h2 id="language-title">{words.title}</h2>
        <div class="field">
          <label for="language">{words.label}</label>
          <select id="language" name="language">
            <option value="">{words.ofBrowser}</option>
            {offered.map((it) => (
              <option value={it} lang={it} selected={it === chosen}>
                {textsIn(it).parts.languageName}
              </option>
            ))}
          </select>
        </div>
        <button type="submit">{words.save}</button>
      </form>
    </section>
  )
}

const body = z.object({ language: z.enum(LANGUAGES).nullable().catch(null) })

/** Remembers the language; what is none stands for that of the browser. */
export function languageRoutes(app: App, sessions: Pick<SessionStore, 'setLanguage'>): void {
  app.post('/account/language', { schema: { body } }, async ({ caller, body: { language } }, reply) => {
    await sessions.setLanguage(caller.account.id, language)
    return reply.redirect('/account?done=language', 303)
  })
}
