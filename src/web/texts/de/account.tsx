import type { Texts } from '../en/en.js'

export const account: Texts['account'] = {
  language: {
    title: 'Sprache',
    label: 'Die Website spricht',
    ofBrowser: 'Die Sprache des Browsers',
    save: 'Speichern',
    saved: 'Deine Sprache ist gespeichert.',
  },
}
