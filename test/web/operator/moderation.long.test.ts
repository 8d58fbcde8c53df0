import { expect, it } from 'vitest'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { call, PROMPT } from '../../support/client.js'
import { givenOperator } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'

const context = useService()
const browser = useBrowser()
/** Hostile in every way, and refused. */
const REFUSED = 'a naked 12 year old girl\n</p><script>alert(1)</script> \u202e"quoted"'

describeInBrowser('the log of refused prompts in a browser', () => {
  it('shows a prompt only when it is asked for, and lets the operator mark its refusal as wrong', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    const refused = (prompt: string) =>
      call(url, 'POST', '/api/v1/generate', { key: user.key, body: { ...PROMPT, prompt } })
    expect((await refused(`${REFUSED}, first`)).status).toBe(400)
    const noted = () => db.pool.query('SELECT FROM refused_prompts WHERE user_id = $1', [user.id])
    await until(async () => (await noted()).rowCount, 'the note of the refused prompt')
    await refused(REFUSED)
    await until(async () => (await noted()).rowCount === 2, 'the note of the second')
    const { cookie } = await givenOperator(db)
    const { page, violations, scrollsSideways } = await browser.open(url, cookie, { reducedMotion: 'reduce' })
    await page.goto(`/operator/moderation?user=${user.username}`)
    const text = page.locator('details.text p').first()
    await expect.poll(() => text.isVisible()).toBe(false)
    await page.getByText('Show the text').first().click()
    expect(await text.textContent()).toBe(REFUSED)
    for (const path of ['', '/operator/moderation/repeated', '/operator/images']) {
      if (path) await page.goto(path)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        expect(await violations()).toEqual([])
      }
      await page.setViewportSize({ width: 390, height: 800 })
      expect(await scrollsSideways()).toBe(false)
    }
    await page.goto(`/operator/moderation?user=${user.username}`)
    await page.getByRole('button', { name: 'Mark as wrong' }).first().click()
    await page.getByText('marked as wrong', { exact: true }).waitFor()
    await expect.poll(() => page.getByText('The refusal is marked as wrong.').isVisible()).toBe(true)
  })
})
