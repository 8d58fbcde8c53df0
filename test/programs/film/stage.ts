/** What a film needs: Easel as it is built, the stand-in of Stripe, a browser, and accounts with images. */
import type { Browser } from 'playwright-core'
import sharp from 'sharp'
import { administration } from '../../../src/db/operator/administration.js'
import { createImageStore } from '../../../src/images/open-image-store.js'
import { createPreviewBackend } from '../../../src/inference/preview/preview-backend.js'
import { SECRET_KEY, startStripeStandIn } from '../../stand-ins/stripe/stripe-stand-in.js'
import { launchChromium } from '../../support/chromium.js'
import { freePort } from '../../support/free-port.js'
import { type GivenImage, givenImages } from '../../support/given-images.js'
import { givenPassword, givenSession } from '../../support/given-sign-in.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { cpuOf, startBenchStack, WORKER } from '../bench/stack.js'
import { givenGoods } from '../payments/buyers.js'

export interface Subscriber extends GivenUser {
  readonly cookie: string
  /** Of the images that the account began with, the newest first. */
  readonly slugs: readonly string[]
}

export interface Stage {
  readonly origin: string
  readonly browser: Browser
  readonly db: Awaited<ReturnType<typeof startBenchStack>>['db']
  /** An account that can sign in with PASSWORD, with these images. */
  givenSubscriber(images?: readonly GivenImage[]): Promise<Subscriber>
  /** CPU seconds that the server, Postgres and Redis have used so far. */
  cpu(): Promise<number>
  /** Nothing that is queued is begun until `go` is called. */
  hold(): Promise<{ go(): Promise<void> }>
  close(): Promise<void>
}

const HOLDING = { scope: 'all', target: '' } as const

export async function openStage(): Promise<Stage> {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const stripe = await startStripeStandIn({ start: new Date() })
  const stack = await startBenchStack({
    ...{ PORT: String(port), BASE_URL: origin, INFERENCE_URL: 'preview:', SITE_LANGUAGES: 'en,de' },
    ...{ STRIPE_SECRET_KEY: SECRET_KEY, STRIPE_WEBHOOK_SECRET: 'whsec_of_the_film', STRIPE_API_URL: stripe.url },
  })
  const { db } = stack
  let browser: Browser | undefined
  const close = async () => {
    await browser?.close()
    await stack.close()
    await stripe.close()
  }
  try {
    await stack.launch([WORKER])
    await givenGoods(db, stripe)
    browser = await launchChromium()
    const store = await createImageStore({
      storage: { kind: 'file', path: stack.images },
      cdnBaseUrl: `${origin}/cdn`,
    })
    let drawn: Promise<readonly Drawn[]> | undefined
    const { pauses } = administration(db)
    const by = { actor: 'film', reason: 'A scene is set.' }
    return {
      ...{ origin, browser, db, close },
      async givenSubscriber(images = []) {
        const user = await givenUser(db, { credits: 500 })
        await givenPassword(db, user)
        const slugs = await givenImages(db, user, images)
        if (slugs.length > 0) {
          drawn ??= drawAll()
          const files = await drawn
          for (const [n, slug] of slugs.entries()) {
            const { png, thumbnail } = files[n % files.length] as Drawn
            await store.put(slug, png, { thumbnail })
          }
        }
        return { ...user, cookie: await givenSession(db, user), slugs }
      },
      cpu: async () => (await stack.servicesCpu()) + (await cpuOf(stack.server.pid)),
      async hold() {
        await pauses.pause(HOLDING, by)
        return { go: async () => void (await pauses.resume(HOLDING, by)) }
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

interface Drawn {
  readonly png: Buffer
  readonly thumbnail: Buffer
}

/** The prompts of given images, one after the other. */
export const SCENES = [
  'a castle above the sea at dusk, oil on canvas',
  'a lake in the mountains, mist, soft watercolor',
  'a lone pine on a hill under the northern lights',
  'hot-air balloons over a desert at sunrise',
  'a sailing boat in a storm, high waves, dramatic light',
  'a city by the river at night, rain, reflections',
]

const SIZES = [
  [832, 1216],
  [1216, 832],
  [1024, 1024],
] as const

/** The n-th given image. */
export const sceneOf = (n: number): GivenImage & { readonly prompt: string } => ({
  prompt: `${SCENES[n % SCENES.length]}, take ${n + 1}`,
  size: SIZES[n % SIZES.length] as (typeof SIZES)[number],
  modelVersionId: 1,
})

/** The files that given images share. */
function drawAll(): Promise<readonly Drawn[]> {
  const backend = createPreviewBackend()
  return Promise.all(
    SCENES.map(async (prompt, n) => {
      const [width, height] = SIZES[n % SIZES.length] as (typeof SIZES)[number]
      const request: Parameters<typeof backend.generate>[0] = {
        ...{ prompt, negativePrompt: '', width, height, steps: 30, cfgScale: 7, sampler: 'euler_a', seeds: [n] },
        ...{ model: 'film', attemptId: `film-${n}`, attempt: '1' },
      }
      const [image] = await backend.generate(request, { signal: new AbortController().signal })
      const png = Buffer.from((image as { bytes: Buffer }).bytes)
      return { png, thumbnail: await sharp(png).resize(512, 512, { fit: 'inside' }).webp().toBuffer() }
    }),
  )
}
