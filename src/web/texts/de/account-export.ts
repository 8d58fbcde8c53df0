import type { Texts } from '../en/en.js'
import { formats } from './words.js'

export const accountExport: Texts['accountExport'] = {
  title: 'Deine Daten',
  about:
    'Eine ZIP-Datei mit allem, was diese Website zu deinem Konto gespeichert hat: deine Bilder, deine Prompts und was es sonst gibt.',
  promptsKept: (days) => `Ein Prompt wird ${days === 1 ? 'einen Tag' : `${days} Tage`} aufbewahrt und dann gelöscht.`,
  imagesKept: (days) =>
    `Ein Bild wird ${days === 1 ? 'einen Tag' : `${days} Tage`} aufbewahrt und dann entfernt: Lade herunter, was du behalten willst.`,
  download: 'Deine Daten herunterladen',
  intro: (username, at) =>
    `Alles, was zum Konto ${username} gespeichert ist, ${formats.time(at)}.\n` +
    'Jede .json-Datei ist eine Liste. Zeiten sind in UTC. Passwörter, Schlüssel und andere Geheimnisse fehlen.',
  files: {
    account: 'Das Konto: Name, Adresse, Sprache, Credits und welche E-Mails es nicht bekommt.',
    subscription: 'Das Abo, von wann bis wann, und sein jetziger Zeitraum.',
    keys: 'Die API-Schlüssel, jeweils mit Namen und den letzten vier Zeichen.',
    sessions: 'Wo das Konto angemeldet ist, so wie die Browser sich nennen.',
    'sign-in-links': 'Links, die verschickt und noch nicht benutzt wurden, ohne die Links selbst.',
    identities: 'Die Konten bei anderen Diensten, mit denen man sich anmeldet.',
    generations:
      'Was erstellt wurde: Prompts, Einstellungen, Zeiten und die Bilder dazu, mit den IDs der Ordner, in denen sie sind.',
    'request-keys': 'Die Idempotency-Keys der Anfragen vom letzten Tag.',
    folders: 'Die Ordner der Galerie. Der ohne Namen sind die Favoriten.',
    'saved-settings': 'Einstellungen der Seite „Erstellen“, die unter einem Namen gespeichert sind.',
    'up-next': 'Was auf der Seite „Erstellen“ als Nächstes kommt.',
    credits: 'Jeder Credit, der kam oder ging.',
    usage: 'Die Bilder, die mit Entwicklerschlüsseln erstellt wurden, zum Zählen.',
    'payment-customers': 'Wer das Konto beim Zahlungsdienst ist.',
    'paid-subscriptions': 'Abos, die dort bezahlt werden oder wurden.',
    payments: 'Was bezahlt wurde. Beträge sind in der kleinsten Einheit der Währung.',
    'payment-events': 'Was der Zahlungsdienst in den letzten 30 Tagen gemeldet hat, in seinen eigenen Worten.',
    webhooks: 'Adressen, die erfahren, wenn etwas geschieht.',
    'webhook-deliveries': 'Was dorthin geschickt wurde.',
    notices: 'Was dem Konto über Credits und Zahlungen mitgeteilt wurde.',
    mails:
      'E-Mails, die darauf warten, dass ein Betreiber sie weitergibt, ohne ihren Text, in dem Links zum Anmelden stehen.',
    'refused-prompts': 'Prompts, die die Moderation abgelehnt hat, und warum.',
    reports:
      'Meldungen von Besuchern über Bilder. Niemand weiß, wer sie geschickt hat; was sie geschrieben haben, und die Uhrzeit fehlen.',
    'operator-acts': 'Was die Betreiber dieser Website zu dem Konto getan haben, und warum. Ihre Namen fehlen.',
  },
  images: 'Die Bilder, auch die privaten, mit Namen wie in generations.json.',
  missing:
    'Nur wenn es welche gibt: Bilder, deren Dateien auf dem Server fehlen oder nicht gelesen werden konnten, und Dateien seines Archivs, die nicht gelesen werden konnten. Fordern Sie später noch einmal einen Export an, oder wenden Sie sich an den Betreiber.',
}
