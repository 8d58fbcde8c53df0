import type { MailPlace, MailTexts } from '../../../core/accounts/mail-texts.js'
import { formats, words } from './words.js'

const at = ({ name, host }: MailPlace) => `${name} (${host})`
const day = (moment: Date) => `${formats.date(moment)} (UTC)`

export const mails: MailTexts = {
  language: formats.language,
  signInLink: ({ place, username, minutes, url }) => ({
    subject: `Anmelden bei ${at(place)}`,
    text: `Hallo ${username},

dieser Link meldet dich bei ${at(place)} an. Er funktioniert einmal, und
nur in den nächsten ${minutes} Minuten:

${url}

Du bekommst diese E-Mail, weil jemand auf unserer Seite zum Anmelden darum gebeten hat. Wenn
du das nicht warst, beachte sie nicht: Ohne den Link kann niemand etwas tun.
`,
  }),
  confirmation: ({ place, minutes, url }) => ({
    subject: `Bestätige deine Adresse für ${at(place)}`,
    text: `Hallo,

jemand hat diese E-Mail-Adresse für ein Konto bei ${at(place)} angegeben. Wenn du das warst,
bestätige die Adresse mit diesem Link. Er funktioniert einmal, und nur in den nächsten ${minutes} Minuten:

${url}

Wenn du das nicht warst, beachte diese E-Mail nicht: Dann bekommt das Konto deine Adresse nie.
`,
  }),
  emailWarning: ({ place, username, newEmail, url }) => ({
    subject: `Deine Adresse bei ${at(place)} soll geändert werden`,
    text: `Hallo ${username},

jemand, der in deinem Konto bei ${at(place)} angemeldet ist, möchte dessen E-Mail-Adresse ändern in

${newEmail}

Sie ändert sich, sobald der Link benutzt wird, der dorthin geschickt wurde. Wenn du das warst, musst du hier
nichts tun.

Wenn du das nicht warst, brich die Änderung sofort ab, ändere dein Passwort und melde dich überall ab:

${url}
`,
  }),
  notice: ({ username, text, offUrl }) => `Hallo ${username},

${text}

Diese E-Mails kannst du hier abschalten: ${offUrl}
`,
  creditsLow: ({ place, credits, usageUrl }) => ({
    subject: `Nur noch wenige Credits bei ${at(place)}`,
    text: `dein Konto bei ${at(place)} hat noch ${words.credits(credits)}, weniger als ein
Fünftel dessen, was nach der letzten Gutschrift da war. Wofür du Credits verbraucht hast, siehst du hier: ${usageUrl}`,
  }),
  creditsOut: ({ place, usageUrl, offersUrl }) => ({
    subject: `Keine Credits mehr bei ${at(place)}`,
    text: `dein Konto bei ${at(place)} hat keine Credits mehr. Bilder kannst du erst wieder erstellen,
wenn neue dazukommen.${offersUrl ? ` Hier bekommst du welche: ${offersUrl}\n` : ' '}Wofür du Credits verbraucht hast, siehst du hier: ${usageUrl}`,
  }),
  paymentFailed: ({ place, plan, endDate, url }) => ({
    subject: `Eine Zahlung bei ${at(place)} ist fehlgeschlagen`,
    text: `die Zahlung für dein Abo ${plan} bei ${at(place)} ist fehlgeschlagen. Sie wird noch einmal versucht; gelingt
sie nicht, kannst du Bilder nur noch bis zum ${day(endDate)} erstellen. Prüfe deine Zahlungsart: ${url}`,
  }),
  subscriptionEnded: ({ place, plan, endDate, url }) => ({
    subject: `Dein Abo bei ${at(place)} ist beendet`,
    text: `dein Abo ${plan} bei ${at(place)} ist seit dem ${day(endDate)} beendet. Deine Bilder bleiben,
wo sie sind; um neue zu erstellen, verlängere es: ${url}`,
  }),
}
