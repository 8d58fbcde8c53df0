import { beforeAll, expect, it } from 'vitest'
import { creditPackStore } from '../../../src/db/billing/credit-packs.js'
import { SECRET_KEY, type StripeStandIn, startStripeStandIn } from '../../stand-ins/stripe/stripe-stand-in.js'
import { describeInBrowser, type Tab, useBrowser } from '../../support/browser.js'
import { givenPlan } from '../../support/given-plan.js'
import { givenOperator, givenSession } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { visit } from '../../support/website-client.js'

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

  it('has none with a failed payment either, and neither have the pages where operators see it', async () => {
    const { db, url } = context.service
    const user = await givenUser(db, { credits: 0, subscription: null })
    const cookie = await givenSession(db, user)
    const [mine, theirs] = [await browser.open(url, cookie), await browser.open(url, (await givenOperator(db)).cookie)]
    const { location } = await visit(url, '/account/billing/plan', { cookie, body: { name: 'Basic' } })
    const { customer } = stripe.pay(location as string)
    const shown = async (tab: Tab, path: string, text: string) => {
      const found = async () => {
        await tab.page.goto(path)
        return (await tab.page.content()).includes(text)
      }
      await until(found, `${text} on ${path}`)
    }
    await shown(mine, '/account', 'then it renews')
    stripe.setCard(customer as string, 'declined')
    await stripe.advanceTo(new Date(stripe.now().getTime() + 32 * 86_400_000))
    for (const [tab, path, text] of [
      [mine, '/account', 'the last payment failed'],
      [theirs, `/operator/users/${user.username}`, 'past due'],
      [theirs, '/operator/payments', 'Unmatched'],
    ] as const) {
      await shown(tab, path, text)
      await tab.page.setViewportSize({ width: 1280, height: 850 })
      for (const colorScheme of ['light', 'dark'] as const) {
        await tab.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        expect(await tab.violations()).toEqual([])
      }
      await tab.page.setViewportSize({ width: 390, height: 800 })
      expect(await tab.scrollsSideways()).toBe(false)
      expect(await tab.violations()).toEqual([])
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
