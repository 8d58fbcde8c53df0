import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import type { RecordedAct } from '../../../core/operator/operator-actions.js'
import type { App } from '../../../http/shared/fastify-app.js'
import type { Page } from '../../../lib/page.js'
import { sendPage } from '../../parts/layout.js'
import { Pager } from '../../parts/page-parts.js'
import { Moment } from '../../parts/text.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { Actor, Table } from '../parts/operator-parts.js'
import { ActText } from './act-text.js'

const LIMIT = 50
const query = z.object({ before: z.coerce.number().int().min(1).optional().catch(undefined) })

/** What operators have done. */
export function logRoutes(app: App, { ports }: WebsiteOptions): void {
  app.get('/operator/log', { schema: { querystring: query } }, async (request, reply) => {
    const { before } = request.query
    const page = await ports.operatorActions.list({ limit: LIMIT, after: before === undefined ? undefined : [before] })
    return sendPage(reply, <LogPage page={page} isFirst={before === undefined} signedIn={sessionOf(request)} />)
  })
}

interface LogPageProps {
  readonly page: Page<RecordedAct>
  readonly isFirst: boolean
  readonly signedIn: SignedIn
}

const LogPage = ({ page: { items, next }, isFirst, signedIn }: LogPageProps) => (
  <OperatorLayout title="Log" signedIn={signedIn} path="/operator/log">
    <Table
      name="What operators did"
      columns={[['When'], ['Who'], ['What'], ['Why']]}
      empty={isFirst ? 'Nothing yet: every act of an operator appears here.' : 'This is the end of the log.'}
    >
      {items.map(({ at, actor, action, target, reason }) => (
        <tr>
          <td class="nowrap">
            <Moment at={at} />
          </td>
          <td>
            <Actor actor={actor} />
          </td>
          <td class="what">
            <ActText action={action} target={target} />
          </td>
          <td class="what">{reason ? <bdi>{reason}</bdi> : <span class="quiet">–</span>}</td>
        </tr>
      ))}
    </Table>
    <Pager first={isFirst ? undefined : '/operator/log'} next={next && `/operator/log?before=${next[0]}`} />
  </OperatorLayout>
)
