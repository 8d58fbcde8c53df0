import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import { imageNotFound } from '../../../core/errors.js'
import type { OwnImage } from '../../../core/gallery/gallery.js'
import { samplerName } from '../../../core/generations/generation.js'
import { SLUG } from '../../../core/images/ports.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { Layout, sendPage } from '../../parts/layout.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'

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
  return (
    <Layout title="Compare" signedIn={signedIn} path="/gallery" class="compare" style="gallery.css" script="gallery.js">
      <h1>Compare two images</h1>
      <div class="versus" style={`--ratio: ${(width / height).toFixed(4)}; --at: 50%`}>
        <img src={left.file} alt={`Left: ${left.image.prompt || 'untitled'}`} />
        <img src={right.file} alt={`Right: ${right.image.prompt || 'untitled'}`} />
        <input
          id="divider"
          type="range"
          min="0"
          max="100"
          value="50"
          step="any"
          aria-label="Where the left image ends"
        />
      </div>
      <table class="card differences">
        <thead>
          <tr>
            <td />
            {[left, right].map(({ image }, n) => (
              <th scope="col">
                <a href={`/image/${image.slug}`}>{n === 0 ? 'Left' : 'Right'}</a>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {FACTS.map(([name, read]) => {
            const [one, other] = [read(left.image), read(right.image)]
            return (
              <tr class={one === other ? 'quiet' : 'differs'}>
                <th scope="row">{name}</th>
                {one === other ? (
                  <td colSpan={2}>
                    <bdi>{one}</bdi> <span class="small">in both</span>
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

const FACTS: readonly (readonly [name: string, read: (image: OwnImage) => string])[] = [
  ['Prompt', ({ prompt }) => prompt || 'None'],
  ['Without', ({ negativePrompt }) => negativePrompt || 'Nothing'],
  ['Model', ({ modelName }) => modelName],
  ['Seed', ({ seed }) => `${seed}`],
  ['Size', ({ width, height }) => `${width} × ${height}`],
  ['Sampler', ({ sampler }) => samplerName(sampler)],
  ['Steps', ({ steps }) => `${steps}`],
  ['Guidance (CFG)', ({ cfgScale }) => `${cfgScale}`],
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
      return { image, file: ports.images.url(name) }
    }
    const [left, right] = [await requireOwn(request.params.left), await requireOwn(request.params.right)]
    return sendPage(reply, <ComparePage {...{ signedIn, left, right }} />)
  })
}
