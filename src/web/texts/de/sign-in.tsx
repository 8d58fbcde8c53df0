import type { Texts } from '../en/en.js'

export const signIn: Texts['signIn'] = {
  sent: (minutes) =>
    `Wenn es ein Konto mit diesem Namen oder dieser Adresse gibt, ist ein Link unterwegs. Er gilt nur einmal, und nur ${minutes} Minuten lang.`,
  name: 'Benutzername oder E-Mail',
  password: 'Passwort',
  withoutPassword: 'Kein Passwort, oder vergessen?',
  mail: 'Link per E-Mail schicken',
  at: (host) => `Mit ${host} anmelden`,
  askOperator: 'Kein Passwort, oder vergessen? Bitte den Betreiber dieser Website um einen Link.',
  noCookies:
    'Dein Browser behält keine Cookies dieser Website, darum kann niemand angemeldet sein: Erlaube sie, dann melde dich an.',
  isNew: 'Neu hier?',
  createAccount: 'Konto anlegen',
  link: {
    welcome: (site) => <>Willkommen bei {site}</>,
    press: (username) => (
      <>Drücke den Knopf, um dich in diesem Browser als {username} anzumelden. Der Link gilt nur einmal.</>
    ),
    password: {
      title: 'Neues Passwort festlegen',
      label: 'Neues Passwort',
      hint: ' – oder nichts, um das bisherige zu behalten. Ein neues meldet dich überall sonst ab.',
    },
  },
  signedOut: {
    title: 'Du bist abgemeldet',
    stillThere: (host) =>
      `Bei ${host} bist du noch angemeldet: Wer diesen Browser benutzt, kann sich damit vielleicht ohne Passwort wieder anmelden.`,
    there: (host) => `Auch bei ${host} abmelden`,
  },
  problems: {
    wrong: 'Name und Passwort passen nicht zusammen. Prüfe beides, oder fordere einen Link an.',
    tooMany: 'Zu viele Versuche, dich anzumelden. Warte eine Viertelstunde, oder fordere einen Link an.',
    tooManyMails: 'Von hier wurden zu viele Links angefordert. Warte eine Viertelstunde.',
    noPasswords: 'Auf dieser Website gibt es keine Passwörter. Melde dich anders an.',
    noName: 'Gib zuerst deinen Benutzernamen oder deine E-Mail-Adresse ein.',
    linkOver: 'Dieser Link wurde schon benutzt oder ist zu alt. Fordere einen neuen an.',
    notBegun:
      'Diese Anmeldung hat nicht in diesem Browser begonnen, oder sie hat zu lange gedauert. Beginne noch einmal.',
  },
  failures: {
    refused: (host) => `${host} hat dich nicht angemeldet. Beginne noch einmal, oder melde dich anders an.`,
    away: (host) => `${host} antwortet nicht. Melde dich anders an, oder versuche es gleich noch einmal.`,
    setup: (host) =>
      `Die Anmeldung mit ${host} ist nicht richtig eingerichtet. Melde dich anders an, oder frage den Betreiber.`,
  },
  lacks: {
    address: (host) => `${host} hat uns keine E-Mail-Adresse genannt, die wir verwenden können. Frage den Betreiber.`,
    verification: (host) =>
      `${host} bestätigt nicht, dass deine E-Mail-Adresse geprüft ist. Darum wissen wir nicht, welches Konto deines ist. Lass sie dort prüfen, oder frage den Betreiber.`,
    account: (host) => `Zu deiner Anmeldung bei ${host} gehört hier kein Konto. Bitte den Betreiber um eines.`,
  },
}
