import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { renameSettings, saveSettings } from '../../../core/accounts/saved-settings.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendFragment } from '../../parts/layout.js'
import { isFragment, refusalMessage } from '../../shared/answers.js'
import type { WebsitePorts } from '../../shared/ports.js'
import { type Form, formBody } from './form.js'
import { type Naming, SavedSettingsBlock, settingsOf, settingsProblem } from './saved-settings.js'

const text = z.string().catch('')
const params = z.object({ id: z.uuid() })
const newSettings = z.object({
  name: text,
  style: text,
  replace: text,
  /** The form that they were taken from, as JSON. */
  settings: z
    .string()
    .transform((json, context) => {
      try {
        return JSON.parse(json)
      } catch {
        context.addIssue('The form of these settings is no JSON: load the page again.')
        return z.NEVER
      }
    })
    .pipe(formBody),
})
const change = z.object({ do: z.enum(['rename', 'delete']), name: text })

/** What a page without scripts shows after it: the form as it was, and what became of the settings. */
export interface SettingsShown {
  readonly form: Form
  readonly naming?: Naming | undefined
  readonly done?: string | undefined
}

/** Saves settings of the form under a name, renames and deletes them. */
export function savedSettingsRoutes(
  app: App,
  ports: WebsitePorts,
  showPage: (request: FastifyRequest, reply: FastifyReply, shown: SettingsShown) => Promise<FastifyReply>,
): void {
  const { savedSettings } = ports
  const sendBlock = async (
    { caller }: FastifyRequest,
    reply: FastifyReply,
    said: { naming?: Naming; done?: string; problem?: string },
  ) => sendFragment(reply, <SavedSettingsBlock saved={await savedSettings.list(caller.account.id)} {...said} />)

  app.post('/playground/settings', { schema: { body: newSettings } }, async (request, reply) => {
    const { name, style, replace, settings: form } = request.body
    const words = request.texts.playground.saved
    const show = (said: { naming?: Naming; done?: string }) =>
      isFragment(request) ? sendBlock(request, reply, said) : showPage(request, reply, { form, ...said })
    const naming = { name, style, form }
    const unfit = settingsProblem(form, request.texts)
    if (unfit) {
      reply.code(400)
      return show({ naming: { ...naming, problem: unfit.text } })
    }
    try {
      const named = { name, style, body: settingsOf(form) }
      const outcome = await saveSettings(savedSettings, request.caller.account.id, named, replace === 'yes')
      if (outcome === 'saved') return await show({ done: words.done(name.trim()) })
      const problem = words.taken(name.trim())
      return await show({ naming: { ...naming, problem, isTaken: true } })
    } catch (error) {
      return show({ naming: { ...naming, problem: refusalMessage(error, reply) } })
    }
  })

  app.post('/playground/settings/:id', { schema: { params, body: change } }, async (request, reply) => {
    const { id } = request.params
    const accountId = request.caller.account.id
    if (request.body.do === 'delete') await savedSettings.remove(accountId, id)
    else
      try {
        await renameSettings(savedSettings, accountId, id, request.body.name)
      } catch (error) {
        if (!isFragment(request)) throw error
        return sendBlock(request, reply, { problem: refusalMessage(error, reply) })
      }
    if (!isFragment(request)) return reply.redirect('/playground#saved-settings', 303)
    const { removed, renamed } = request.texts.playground.saved
    return sendBlock(request, reply, { done: request.body.do === 'delete' ? removed : renamed })
  })
}
