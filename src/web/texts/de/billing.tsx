import type { Texts } from '../en/en.js'
import { formats, words } from './words.js'

const { number } = formats
const { credits, modelVersions } = words

const PERIODS = { month: 'Monat', year: 'Jahr' } as const
const OF_PERIOD = { month: 'des Monats', year: 'des Jahres' } as const

export const billing: Texts['billing'] = {
  prices: 'Preise',
  lead: 'Ein Bild kostet einen Credit oder mehr, je nach Modell.',
  plans: 'Abos',
  noPlans: 'Zurzeit wird kein Abo angeboten.',
  moreCredits: 'Mehr Credits',
  unknownPrices: 'Die Preise können gerade nicht gezeigt werden. Lade diese Seite in einer Minute noch einmal.',
  choosePlan: 'Abo wählen',
  createAccount: 'Konto anlegen',
  signIn: 'Anmelden',
  offer: {
    per: (period) => `pro ${PERIODS[period]}`,
    creditsPer: (count, period) => `${credits(count)} pro ${PERIODS[period]}`,
    left: (carryOver, period) =>
      carryOver === null
        ? 'Was du nicht verbrauchst, bleibt dir'
        : carryOver === 0
          ? `Was am Ende ${OF_PERIOD[period]} übrig ist, verfällt`
          : `Von dem, was übrig ist, bleiben ${number(carryOver)}`,
    atStart: (count) => `Dazu einmalig ${credits(count)} zum Start`,
    models: (count) => (count === null ? 'Alle Modelle' : modelVersions(count)),
    once: 'einmalig',
    plusTax: 'zuzüglich Steuer',
    neverExpire: 'Sie verfallen nie',
  },
  outlook: {
    expires: (count, date) => (
      <>
        {count === 1 ? 'Einer davon verfällt' : `${number(count)} davon verfallen`} am {date} und{' '}
        {count === 1 ? 'wird' : 'werden'} zuerst verbraucht.
      </>
    ),
    next: (date, follows, carryOver, period) => (
      <>
        Am {date} {follows === 0 ? 'kommen keine weiteren Credits' : `bekommst du ${credits(follows)}`};{' '}
        {carryOver === null
          ? `was ${OF_PERIOD[period]} übrig ist, bleibt`
          : carryOver === 0
            ? `was ${OF_PERIOD[period]} übrig ist, verfällt`
            : `von den übrigen Credits deines Abos bleiben ${number(carryOver)}`}
        .
      </>
    ),
  },
  own: {
    title: 'Dein Abo',
    manage: 'Ändern oder kündigen, Karten, Rechnungen',
    invoices: 'Rechnungen und Karten',
    choose: 'Wählen',
    buy: 'Kaufen',
    needPlan: 'Für Bilder brauchst du ein laufendes Abo; gekaufte Credits warten auf eines.',
    isLate:
      'Deine Zahlung ist noch nicht bestätigt. Manche Banken brauchen Tage: Was du gekauft hast, kommt von selbst, sobald das Geld da ist.',
    isNew: 'Danke. Deine Zahlung wird bestätigt, das dauert ein paar Sekunden; diese Seite lädt sich von selbst neu.',
    unknownPlan: 'Ein Abo, das hier nicht bekannt ist',
    paused: 'pausiert. Es wird nichts abgebucht, und es kommen keine Credits.',
    underway: 'deine Zahlung ist unterwegs, das kann bei deiner Bank Tage dauern. Credits kommen, sobald sie da ist.',
    failed:
      'die letzte Zahlung ist fehlgeschlagen. Gib eine andere Karte an oder bezahle die offene Rechnung, sonst endet das Abo an dem Tag, der oben steht.',
    failedAndOver:
      'die letzte Zahlung ist fehlgeschlagen, und das Abo ist abgelaufen. Gib eine andere Karte an oder bezahle die offene Rechnung: Sobald sie bezahlt ist, läuft es weiter.',
    changes: (plan, date) => (
      <>
        wechselt am {date} zu {plan}.
      </>
    ),
    ends: (date) => <>endet am {date}.</>,
    renews: (date) => <>bezahlt bis {date}, dann verlängert es sich.</>,
  },
}
