import type { SignedIn } from '../../../core/accounts/session.js'
import type { Offers, Shop } from '../../../core/billing/shop.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { Layout, sendPage } from '../../parts/layout.js'
import { PackOffer, PlanOffer } from '../../parts/offers.js'

interface PricingPageProps {
  readonly signedIn: SignedIn | null
  /** Undefined: what things cost is not known now. */
  readonly offers: Offers | undefined
  readonly signUpIsOpen: boolean
}

/** What plans and credits cost, for who has no account. */
const PricingPage = ({ signedIn, offers, signUpIsOpen }: PricingPageProps) => (
  <Layout title="Prices" signedIn={signedIn} path="/pricing" listed class="column" style="account.css">
    <div class="stack heading">
      <h1>Prices</h1>
      <p class="lead">An image costs one credit or more, as its model says.</p>
    </div>
    {offers ? (
      <>
        <h2>Plans</h2>
        <ul class="offers">
          {offers.plans.map((offer) => (
            <PlanOffer key={offer.item.name} offer={offer} />
          ))}
        </ul>
        {offers.plans.length === 0 && <p class="empty">No plan is for sale now.</p>}
        {offers.packs.length > 0 && (
          <>
            <h2>More credits</h2>
            <ul class="offers">
              {offers.packs.map((offer) => (
                <PackOffer key={offer.item.name} offer={offer} />
              ))}
            </ul>
          </>
        )}
      </>
    ) : (
      <p class="problem">What things cost cannot be shown right now. Load this page again in a minute.</p>
    )}
    <p class="row">
      {signedIn ? (
        <a class="button primary" href="/account#buy">
          Choose a plan
        </a>
      ) : (
        <a class="button primary" href={signUpIsOpen ? '/sign-up' : '/sign-in'}>
          {signUpIsOpen ? 'Create an account' : 'Sign in'}
        </a>
      )}
    </p>
  </Layout>
)

export function pricingRoutes(app: App, { shop, signUpIsOpen }: { shop: Shop; signUpIsOpen: boolean }): void {
  app.get('/pricing', async ({ signedIn }, reply) =>
    sendPage(
      reply,
      <PricingPage signedIn={signedIn ?? null} offers={await shop.offers()} signUpIsOpen={signUpIsOpen} />,
    ),
  )
}
