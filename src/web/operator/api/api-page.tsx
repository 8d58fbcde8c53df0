import type { SignedIn } from '../../../core/accounts/session.js'
import type { DescribeApi } from '../../../http/shared/api-descriptions.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import { referenceHtml } from '../../parts/reference/reference-html.js'
import { fencedSamples, referenceMarkdown } from '../../parts/reference/reference-markdown.js'
import { samplesOf } from '../../parts/samples.js'
import { assetText } from '../../shared/assets.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { en } from '../../texts/texts.js'
import { OperatorLayout } from '../parts/operator-layout.js'

const PATH = '/operator/api'

interface ApiPageProps {
  readonly signedIn: SignedIn
  /** It is the same for all operators. */
  readonly body: string
}

const ApiPage = ({ signedIn, body }: ApiPageProps) => (
  <OperatorLayout
    title="Administration API"
    signedIn={signedIn}
    path={PATH}
    style="reference.css"
    script="reference.js"
    aside={<a href="/admin/v1/openapi.json">OpenAPI 3.1</a>}
  >
    <div class="reference">
      <div class="whole" dangerouslySetInnerHTML={{ __html: body }} />
    </div>
  </OperatorLayout>
)

/** A program that administers is written once, in whichever language: what the shell sends says enough. */
const LANGUAGES = ['curl'] as const
const PLACES = {
  ...{ name: 'ada', slug: 'Zk3vQ9xT1bN7mR4wY8cL2s', customer: 'cus_R4wY8cL2sZk3v' },
  ...{ Keys: '7d9c1e52-3b0f-4a86-9f11-2c5d8e7a6b40', Payments: 'pi_3QxYzKL2sZk3vQ9x' },
  ...{ Models: '1', Generations: 'gen_4c6t8w2r5y1k9m3n7p0q6s2v8x', Moderation: '42' },
}
const VALUES = {
  ...{ username: 'ada', password: 'correct horse battery', amount: 100, scope: 'all' },
  accounts: [{ name: 'ada', plan: 'Pro' }],
  plans: [{ name: 'Pro', credits: 500, period: 'month' }],
  packs: [{ name: 'Small', credits: 100, price: 'price_1Abc' }],
  models: [
    {
      id: 1,
      name: 'v1.1',
      model_name: 'NoobAI-XL',
      base_model: 'NoobAI',
      type: 'Checkpoint',
      filename: 'noob.safetensors',
    },
  ],
}
const OPTIONAL = {
  createAccount: { plan: 'Pro', until: '2027-12-31', reason: 'paid in cash' },
  changeAccount: { email: 'ada@example.com' },
  setSubscription: { plan: 'Pro', until: '2027-12-31' },
  adjustCredits: { amount: -20, reason: 'granted twice' },
  grantCredits: { reason: 'paid in cash' },
  createKey: { name: 'shop', until: '2027-12-31' },
  changeKey: { until: '2027-12-31' },
  changeModel: { credits_per_image: 2 },
  pause: { reason: 'new disks' },
}

/** What /admin/v1 has, to read: made of its description when it is first asked for. */
export function apiRoutes(app: App, { baseUrl, rateLimit }: WebsiteOptions, describe: DescribeApi): void {
  let body: string | undefined
  app.get(PATH, async (request, reply) => {
    const queue = { method: 'GET', url: `${baseUrl}/admin/v1/queue`, body: undefined, contentType: 'application/json' }
    body ??= referenceHtml(
      referenceMarkdown(await describe(), {
        baseUrl,
        chapters: assetText('admin-reference.md'),
        facts: { first: fencedSamples(samplesOf(queue), LANGUAGES), window_seconds: rateLimit.windowSeconds },
        samples: { languages: LANGUAGES, ids: PLACES, values: VALUES, optional: OPTIONAL },
      }),
      en,
    )
    return sendPage(reply, <ApiPage signedIn={sessionOf(request)} body={body} />)
  })
}
