import type { Texts } from '../en/en.js'

export const home: Texts['home'] = {
  headline: 'Bilder aus Worten',
  lead: 'Schreib, was du sehen willst. Sieh zu, wie es entsteht. Behalte den Link: Er bleibt.',
  description: (name) => `${name} erstellt Bilder aus Texten, im Browser oder über HTTP.`,
  drawings: {
    'lighthouse.svg': 'ein Leuchtturm in der Abenddämmerung',
    'castle.svg': 'eine Burg im Schnee',
    'balloons.svg': 'Ballons im Morgengrauen',
  },
  drawingOf: (prompt) => `Eine Zeichnung: ${prompt}`,
  createAccount: 'Konto anlegen',
  signIn: 'Anmelden',
  reference: 'API-Referenz lesen',
  prices: 'Preise ansehen',
  program: {
    title: 'Dasselbe aus deinem eigenen Programm',
    text: (program) => (
      <>
        Eine Anfrage schickt einen Prompt ab. Frag nach, hör zu, oder lass dich durch einen Webhook benachrichtigen: Das{' '}
        {program('ganze Programm')} gibt es in curl, Python und TypeScript.
      </>
    ),
  },
}
