import type { SignedIn } from '../../../core/accounts/session.js'
import type { Offers, Shop } from '../../../core/billing/shop.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { Layout, sendPage } from '../../parts/layout.js'
import { PackOffer, PlanOffer } from '../../parts/offers.js'
import { useTexts } from '../../texts/texts.js'

interface PricingPageProps {
  readonly signedIn: SignedIn | null
  /** Undefined: what things cost is not known now. */
  readonly offers: Offers | undefined
  readonly signUpIsOpen: boolean
}

/** What plans and credits cost, for who has no account. */
const PricingPage = ({ signedIn, offers, signUpIsOpen }: PricingPageProps) => {
  const { billing: words } = useTexts()
  return (
    <Layout title={words.prices} signedIn={signedIn} path="/pricing" listed class="column" style="account.css">
      <div class="stack heading">
        <h1>{words.prices}</h1>
        <p class="lead">{words.lead}</p>
      </div>
      {offers ? (
        <>
          <h2>{words.plans}</h2>
          <ul class="offers">
            {offers.plans.map((offer) => (
              <PlanOffer key={offer.item.name} offer={offer} />
            ))}
          </ul>
          {offers.plans.length === 0 && <p class="empty">{words.noPlans}</p>}
          {offers.packs.length > 0 && (
            <>
              <h2>{words.moreCredits}</h2>
              <ul class="offers">
                {offers.packs.map((offer) => (
                  <PackOffer key={offer.item.name} offer={offer} />
                ))}
              </ul>
            </>
          )}
        </>
      ) : (
        <p class="problem">{words.unknownPrices}</p>
      )}
      <p class="row">
        {signedIn ? (
          <a class="button primary" href="/account#buy">
            {words.choosePlan}
          </a>
        ) : (
          <a class="button primary" href={signUpIsOpen ? '/sign-up' : '/sign-in'}>
            {signUpIsOpen ? words.createAccount : words.signIn}
          </a>
        )}
      </p>
    </Layout>
  )
}

export function pricingRoutes(app: App, { shop, signUpIsOpen }: { shop: Shop; signUpIsOpen: boolean }): void {
  app.get('/pricing', async ({ signedIn }, reply) =>
    sendPage(
      reply,
      <PricingPage signedIn={signedIn ?? null} offers={await shop.offers()} signUpIsOpen={signUpIsOpen} />,
    ),
  )
}
