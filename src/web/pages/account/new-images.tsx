import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import type { ImagePrivacy } from '../../../core/images/privacy.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { useTexts } from '../../texts/texts.js'

/** Whether what the account makes on the website is private from the start. */
export const NewImages = ({ signedIn }: { readonly signedIn: SignedIn }) => {
  const words = useTexts().image.privacy.newImages
  return (
    <section id="new-images" class="card" aria-labelledby="new-images-title">
      <form class="stack" method="post" action="/account/new-images">
        <h2 id="new-images-title">{words.title}</h2>
        <div class="check">
          <input
            id="new-images-private"
            type="checkbox"
            name="private"
            value="1"
            checked={signedIn.newImagesPrivate}
            aria-describedby="new-images-now"
          />
          <label for="new-images-private">{words.label}</label>
        </div>
        <p id="new-images-now" class="quiet small">
          {signedIn.newImagesPrivate ? words.private : words.public}
        </p>
        <button type="submit">{words.save}</button>
      </form>
    </section>
  )
}

const body = z.object({ private: z.enum(['1', '']).catch('') }).catch({ private: '' })

export function newImagesRoutes(app: App, privacy: Pick<ImagePrivacy, 'setNew'>): void {
  app.post('/account/new-images', { schema: { body } }, async ({ caller, body: { private: isPrivate } }, reply) => {
    await privacy.setNew(caller.account.id, isPrivate === '1')
    return reply.redirect('/account#new-images', 303)
  })
}
