/** What visitors report about images. */
import type { Command } from 'commander'
import { dismissReports } from '../core/operator/image-reports.js'
import { beginningOf } from '../lib/text.js'
import { REASON, type ReasonOption, wholeNumber } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { jsonOf, plural, table } from './output.js'

const DEFAULT_LIMIT = 50
/** Of a note, in the table. */
const SHOWN = 80

export function reportCommands(program: Command, run: Runner): void {
  const reports = program.command('reports').description('what visitors reported about published images')
  reports
    .command('list')
    .description('list open reports by image, the image with the newest report first')
    .option('--limit <n>', `how many images, ${DEFAULT_LIMIT} unless given`, wholeNumber('--limit', 1, 100))
    .action(run(listReports))
  reports
    .command('dismiss <slug>')
    .description('close the open reports of an image, which stays; "easel images remove" closes them, too')
    .option('--up-to <id>', 'only those up to this ID', wholeNumber('--up-to', 1, Number.MAX_SAFE_INTEGER))
    .option(...REASON)
    .action(run(dismiss))
}

async function listReports({ stores }: Operator, { limit = DEFAULT_LIMIT }: { readonly limit?: number }) {
  const { items } = await stores.imageReports.list({ limit, after: undefined })
  return {
    json: items.map((image) => ({
      ...jsonOf(image, 'slug', 'username', 'generationId'),
      reports: image.reports.map((report) => jsonOf(report)),
    })),
    text: table(
      items.flatMap(({ slug, username: user, reports }) =>
        reports.map(({ id, at: time, reason, note, times }) => ({
          ...{ id, time, image: slug, user, reason, times },
          note: beginningOf(note, SHOWN),
        })),
      ),
      'No open reports.',
    ),
  }
}

type DismissOptions = ReasonOption & { readonly upTo?: number }

async function dismiss({ acting }: Operator, slug: string, { upTo, reason }: DismissOptions) {
  const dismissed = await dismissReports(acting(reason), slug, upTo)
  return { json: { slug, dismissed }, text: `${plural(dismissed, 'report')} of image ${slug} dismissed.` }
}
