import { beforeAll, expect, it } from 'vitest'
import { creditPackStore } from '../../../src/db/billing/credit-packs.js'
import { SECRET_KEY, type StripeStandIn, startStripeStandIn } from '../../stand-ins/stripe/stripe-stand-in.js'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { givenPlan } from '../../support/given-plan.js'
import { givenSession } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'

const SECRET = 'whsec_pages'
let stripe: StripeStandIn
const context = useService(async () => {
  stripe = await startStripeStandIn()
  return { env: { STRIPE_SECRET_KEY: SECRET_KEY, STRIPE_WEBHOOK_SECRET: SECRET, STRIPE_API_URL: stripe.url } }
})
const browser = useBrowser()

beforeAll(async () => {
  const { db, url } = context.service
  stripe.events.sendTo({ url: `${url}/billing/stripe`, secret: SECRET })
  const price = (every: string | undefined, amount: number) => stripe.givenPrice({ every, amount }).id
  const sold = { forSale: true, carryOver: 0 } as const
  await givenPlan(db, { ...sold, name: 'Basic', credits: 200, price: price('month', 900), models: [1, 2] })
  await givenPlan(db, { ...sold, name: 'Pro', credits: 1000, signUpCredits: 50, price: price('month', 2900) })
  await givenPlan(db, { ...sold, name: 'Pro, yearly', credits: 12_000, period: 'year', price: price('year', 29_000) })
  const pack = (name: string, credits: number, amount: number) => ({
    name,
    credits,
    price: price(undefined, amount),
    retiredAt: null,
  })
  await creditPackStore(db).import([pack('Small', 100, 500), pack('Large', 1000, 4000)])
  return () => stripe.close()
})

async function givenTab() {
  const { db, url } = context.service
  const user = await givenUser(db, { credits: 0, subscription: null })
  const tab = await browser.open(url, await givenSession(db, user))
  return tab
}

describeInBrowser('the shop in a browser', () => {
  it('has no accessibility violation in light and dark, and fits a phone', async () => {
    const { page, violations, scrollsSideways } = await givenTab()
    for (const path of ['/account', '/pricing']) {
      await page.setViewportSize({ width: 1280, height: 850 })
      await page.goto(path)
      await page.getByRole('heading', { name: 'Pro, yearly' }).waitFor()
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        expect(await violations()).toEqual([])
      }
      await page.setViewportSize({ width: 390, height: 800 })
      expect(await scrollsSideways()).toBe(false)
      expect(await violations()).toEqual([])
    }
  })

  it('leads from a button to the provider, back, and to the plan, without a script', async () => {
    const { page } = await givenTab()
    await page.goto('/account')
    await page.getByRole('button', { name: 'Choose Pro', exact: true }).click()
    await page.waitForURL(`${stripe.url}/c/pay/*`)
    const { success_url } = stripe.pay(page.url())
    // Where tests say that the service is, nobody listens.
    await page.goto(success_url.replace('http://easel.test', ''))
    await page.getByText('then it renews').waitFor()
    await page.getByRole('button', { name: 'Change or cancel' }).click()
    await page.waitForURL(`${stripe.url}/p/session/*`)
    browser.problems.splice(0)
  })
})
