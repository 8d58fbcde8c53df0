import type { ComponentChildren } from 'preact'
import { REPORT_REASONS } from '../../../core/images/reports.js'

const longDate = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' })

export const image = {
  madeWith: (model: string): string => `Image made with ${model}`,
  /** For previews of links. */
  about: (width: number, height: number, seed: number, site: string): string =>
    `${width} × ${height} pixels, seed ${seed}. AI-generated with ${site}.`,
  download: 'Download',
  makeYourOwn: (site: ComponentChildren) => <>Make your own with {site}</>,
  copyPrompt: 'Copy prompt',
  promptGone: 'The prompt is no longer kept.',
  copyParameters: 'Copy parameters',
  copyLink: 'Copy link',
  facts: {
    model: 'Model',
    version: 'Version',
    seed: 'Seed',
    size: 'Size',
    made: 'Made',
    sampler: 'Sampler',
    steps: 'Steps',
    guidance: 'Guidance (CFG)',
    source: 'Source',
    sources: { website: 'Website', api: 'API' },
  },
  /** In UTC. */
  longDate: (at: Date): string => longDate.format(at),
  generated: 'This image is AI-generated.',
  untitled: 'Untitled',
  without: 'Without:',
  remix: 'Remix',
  sameSeed: 'Same seed',
  downloads: { parameters: 'PNG with its parameters', png: 'PNG without them', webp: 'WebP, smaller' },
  inNoFolder: 'In no folder',
  save: 'Save',
  withApi: 'Make it with the API',
  copyCurl: 'Copy curl',
  remove: 'Delete',
  neighbours: {
    label: 'Gallery',
    newer: 'Newer',
    older: 'Older',
    newerImage: 'Newer image',
    olderImage: 'Older image',
    remix: 'Remix: everything but the seed',
    favourite: 'Make it a favourite',
  },
  privacy: {
    page: 'Public page',
    on: 'On',
    off: 'Off',
    private: 'Only you and the operators of this site can see the image, and who opens a link that you make here.',
    public: 'Whoever has the link of this page can see the image; its prompt and parameters, only you.',
    moving: 'Its file is still being taken from its public address.',
    howLong: 'How long the link works',
    times: { hour: 'for an hour', day: 'for a day', week: 'for 7 days', month: 'for 30 days' },
    make: 'Make a link',
    until: (end: ComponentChildren) => (
      <>Whoever has this link sees the image until {end}, or until you take all links back.</>
    ),
    copy: 'Copy this link',
    revoke: 'Take all links back',
    revoking: 'Links that you have made to this image stop working.',
    revoked: 'All links to this image were taken back. Those that you make from now on work.',
    newImages: {
      title: 'New images',
      label: 'What I make on this website is private',
      private:
        'Your new images are private from the start. What your API keys make stays public until you make it private, since programs count on its address.',
      public: 'Whoever has the link of an image can see it, until you make it private.',
      save: 'Save',
    },
  },
  notFound: { title: 'No such image', why: 'There is no image at this address. Check the link.' },
  removed: { title: 'Image removed', why: 'This image was removed and is no longer available.' },
  report: {
    open: 'Report this image',
    title: 'Report an image',
    thanks: 'Thank you',
    received: 'Your report was received. The operators of this site will look at the image.',
    back: 'Back to the image',
    reason: 'What is wrong with it?',
    choose: 'Choose a reason',
    reasons: REPORT_REASONS as Readonly<Record<keyof typeof REPORT_REASONS, string>>,
    note: 'What operators should know',
    noteHint: 'Optional. They are not told who reports: add how to reach you if they should answer.',
    send: 'Send report',
    noReason: 'Choose what is wrong with the image.',
    alreadyReported:
      'This image was reported from here already, and the operators will look at it. To say more, wait an hour and send it again.',
    tooMany: 'Too many reports came from here. Wait an hour, then send it again.',
  },
}
