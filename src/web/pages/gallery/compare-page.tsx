import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import { imageNotFound } from '../../../core/errors.js'
import type { OwnImage } from '../../../core/gallery/gallery.js'
import { samplerName } from '../../../core/generations/generation.js'
import { SLUG } from '../../../core/images/ports.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { urlsFor } from '../../parts/image-urls.js'
import { Layout, sendPage } from '../../parts/layout.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { type Texts, useTexts } from '../../texts/texts.js'

interface Compared {
  readonly image: OwnImage
  readonly file: string
}

interface ComparePageProps {
  readonly signedIn: SignedIn
  readonly left: Compared
  readonly right: Compared
}

/** Two images over each other, with a slider between them, and what is different in how they were made. */
const ComparePage = ({ signedIn, left, right }: ComparePageProps) => {
  const { width, height } = left.image
  const { compare: words } = useTexts().gallery
  return (
    <Layout
      title={words.title}
      signedIn={signedIn}
      path="/gallery"
      class="compare"
      style="gallery.css"
      script="gallery.js"
    >
      <h1>{words.heading}</h1>
      <div class="versus" style={`--ratio: ${(width / height).toFixed(4)}; --at: 50%`}>
        <img src={left.file} alt={`${words.left}: ${left.image.prompt || words.untitled}`} />
        <img src={right.file} alt={`${words.right}: ${right.image.prompt || words.untitled}`} />
        <input id="divider" type="range" min="0" max="100" value="50" step="any" aria-label={words.divider} />
      </div>
      <table class="card differences">
        <thead>
          <tr>
            <td />
            {[left, right].map(({ image }, n) => (
              <th scope="col">
                <a href={`/image/${image.slug}`}>{n === 0 ? words.left : words.right}</a>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {factsIn(words).map(([name, read]) => {
            const [one, other] = [read(left.image), read(right.image)]
            return (
              <tr class={one === other ? 'quiet' : 'differs'}>
                <th scope="row">{name}</th>
                {one === other ? (
                  <td colSpan={2}>
                    <bdi>{one}</bdi> <span class="small">{words.both}</span>
                  </td>
                ) : (
                  [one, other].map((value) => (
                    <td>
                      <bdi>{value}</bdi>
                    </td>
                  ))
                )}
              </tr>
            )
          })}
        </tbody>
      </table>
    </Layout>
  )
}

const factsIn = (
  words: Texts['gallery']['compare'],
): readonly (readonly [name: string, read: (image: OwnImage) => string])[] => [
  [words.prompt, ({ prompt }) => prompt || words.none],
  [words.without, ({ negativePrompt }) => negativePrompt || words.nothing],
  [words.model, ({ modelName }) => modelName],
  [words.seed, ({ seed }) => `${seed}`],
  [words.size, ({ width, height }) => `${width} × ${height}`],
  [words.sampler, ({ sampler }) => samplerName(sampler)],
  [words.steps, ({ steps }) => `${steps}`],
  [words.guidance, ({ cfgScale }) => `${cfgScale}`],
]

const slug = z.string().regex(SLUG).catch('')
const params = z.object({ left: slug, right: slug })

/** Compares two images of one's own. */
export function compareRoutes(app: App, { ports }: WebsiteOptions): void {
  app.get('/compare/:left/:right', { schema: { params } }, async (request, reply) => {
    const signedIn = sessionOf(request)
    const requireOwn = async (name: string): Promise<Compared> => {
      const image = await ports.gallery.image(signedIn.caller.account.id, name)
      if (!image) throw imageNotFound()
      return { image, file: urlsFor(ports.images, image).url(name) }
    }
    const [left, right] = [await requireOwn(request.params.left), await requireOwn(request.params.right)]
    return sendPage(reply, <ComparePage {...{ signedIn, left, right }} />)
  })
}
