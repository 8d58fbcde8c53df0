import type { Texts } from '../en/en.js'

export const usage: Texts['usage'] = {
  title: 'Verbrauch',
  lead: 'Was du erstellt hast und was es gekostet hat, abzüglich dessen, was erstattet wurde. Die Tage sind in UTC.',
  left: (credits) => `Noch ${credits}`,
  creditsSpent: 'Verbrauchte Credits',
  imagesMade: 'Erstellte Bilder',
  byKey: 'Nach Schlüssel',
  byModel: 'Nach Modell',
  unnamedKey: 'Schlüssel ohne Namen',
  nothing: 'In diesem Zeitraum wurde nichts erstellt.',
  name: 'Name',
  generations: 'Generierungen',
  images: 'Bilder',
  credits: 'Credits',
  csv: 'Als CSV:',
  all: 'alles',
  by: { day: 'nach Tag', key: 'nach Schlüssel', model: 'nach Modell' },
  programs: 'Programme bekommen es über',
  api: 'die API',
}
