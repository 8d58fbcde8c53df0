import { expect, it } from 'vitest'
import { pauseStore } from '../../../src/db/operator/pauses.js'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { givenOperator } from '../../support/given-sign-in.js'
import { givenGeneration, givenUser, MODEL } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { givenEndedGeneration } from '../../support/stand-in-worker.js'
import { until } from '../../support/until.js'
import { givenBackend, HOSTILE, OPERATOR_PAGES, workerClaims } from './given-console.js'

const context = useService()
const browser = useBrowser()

/** Nothing waits for the next test. */
const end = (id: string) =>
  context.service.db.pool.query(
    `UPDATE generations SET status = 'failed', error = 'x', finished_at = now() WHERE id = $1`,
    [id],
  )

describeInBrowser('the console in a browser', () => {
  it('shows what waits, and pauses and resumes a model with the keyboard alone', async () => {
    const { db, url } = context.service
    await givenBackend(db)
    const { id } = await givenGeneration(db, await givenUser(db))
    const { page } = await browser.open(url, (await givenOperator(db)).cookie)
    await page.goto('/operator')
    const queue = page.getByRole('table', { name: 'Queue' })
    await queue.getByText(MODEL.filename).waitFor()
    await page.getByRole('table', { name: 'Backends' }).getByText('a1111+http://gpu').waitFor()
    await queue.getByRole('link', { name: `Pause… ${MODEL.filename}` }).press('Enter')
    await page.waitForURL('**/operator?what=*')
    await page.getByLabel('Reason').focus()
    await page.keyboard.type('it draws in green')
    await page.keyboard.press('Enter')
    await page.getByText('it draws in green').waitFor()
    expect(await workerClaims(db)).toBe(false)
    await queue.getByText('paused').waitFor()
    await page.getByRole('button', { name: 'Resume' }).press('Enter')
    await page.getByRole('heading', { name: 'Paused' }).waitFor({ state: 'detached' })
    expect(await pauseStore(db).list()).toEqual([])
    await end(id)
  })

  it('refreshes itself without taking the focus or what is being typed', async () => {
    const { db, url } = context.service
    await pauseStore(db).pause({ scope: 'all', target: '' }, { actor: 'alice', reason: 'new GPUs' })
    const { page } = await browser.open(url, (await givenOperator(db)).cookie)
    await page.goto('/operator')
    const why = page.getByLabel('Why resume everything')
    await why.fill('they are')
    await page.getByLabel('Reason').fill('half a sen')
    await why.focus()
    const { id } = await givenGeneration(db, await givenUser(db))
    await page.getByRole('table', { name: 'Queue' }).getByText(MODEL.filename).waitFor()
    await page.keyboard.press('End')
    await page.keyboard.type(' built in')
    await expect.poll(() => why.inputValue()).toBe('they are built in')
    expect(await page.getByLabel('Reason').inputValue()).toBe('half a sen')
    await page.keyboard.press('Enter')
    await until(async () => (await pauseStore(db).list()).length === 0, 'the end of the pause')
    await end(id)
  })

  it('has no accessibility violation in light and dark, fits a phone, and shows hostile names as text', async () => {
    const { db, url } = context.service
    await givenBackend(db)
    await pauseStore(db).pause({ scope: 'backend', target: 'a1111+http://gpu' }, { actor: 'alice', reason: HOSTILE })
    const failed = await givenEndedGeneration(db, await givenUser(db), {}, 'fail')
    const { page, violations, scrollsSideways } = await browser.open(url, (await givenOperator(db)).cookie)
    for (const path of [...OPERATOR_PAGES, `/operator/generations/${failed.id}`]) {
      await page.setViewportSize({ width: 1280, height: 850 })
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await page.goto(path)
        expect(await violations(), path).toEqual([])
      }
      await page.setViewportSize({ width: 390, height: 800 })
      expect(await scrollsSideways(), path).toBe(false)
      expect(await page.locator('img:not([src^="/covers/"])').count()).toBe(0)
    }
  })
})
