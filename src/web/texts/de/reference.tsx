import type { Texts } from '../en/en.js'

export const reference: Texts['reference'] = {
  title: 'API-Referenz',
  lead: 'Bilder aus Worten, über HTTP. Schick einen Prompt ab, verfolge ihn, behalte den Link. Die Referenz selbst ist auf Englisch.',
  description: (name) =>
    `Alle Endpunkte der API von ${name}: Bilder aus Texten erstellen, über HTTP, mit Beispielen in curl, Python und TypeScript.`,
  signedIn: (username, keys) => (
    <>
      Du bist {username}: {keys('Lege einen Schlüssel an')}
    </>
  ),
  signIn: (link) => <>{link('Melde dich an')}, um einen Schlüssel anzulegen</>,
  contents: 'Inhalt',
  languageOfSamples: 'Sprache der Beispiele',
}
