import type { ComponentChildren } from 'preact'

export const home = {
  headline: 'Images from words',
  lead: 'Write what you want to see. Watch it being drawn. Keep the link: it is permanent.',
  description: (name: string): string => `${name} generates images from text prompts, in the browser or over HTTP.`,
  /** What our own drawings show, as prompts. */
  drawings: {
    'lighthouse.svg': 'a lighthouse at dusk',
    'castle.svg': 'a castle in the snow',
    'balloons.svg': 'balloons at dawn',
  },
  drawingOf: (prompt: string): string => `A drawing of ${prompt}`,
  createAccount: 'Create an account',
  signIn: 'Sign in',
  reference: 'Read the API reference',
  prices: 'See the prices',
  program: {
    title: 'The same, from your own program',
    text: (program: (text: string) => ComponentChildren): ComponentChildren => (
      <>
        One request submits a prompt. Poll it, listen to it, or let a webhook tell you: the {program('whole program')}{' '}
        is in curl, Python and TypeScript.
      </>
    ),
  },
}
