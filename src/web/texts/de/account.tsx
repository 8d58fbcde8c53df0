import type { Texts } from '../en/en.js'
import { formats, words } from './words.js'

const day = (name: string) => formats.date(new Date(name))

/** A note names a plan or a pack, and says more of it. */
const noteOf = (note: string) =>
  note
    .replace(/(\d{4}-\d\d-\d\d) to (\d{4}-\d\d-\d\d)$/, (_, from, to) => `${day(from)} bis ${day(to)}`)
    .replace(/, left of (?=\S+ bis \S+$)/, ', übrig von ')
    .replace(/, at sign-up$/, ', zum Start')
    .replace(/^Payment given back: /, 'Zahlung zurückgegeben: ')
    .replace(/^Payment kept after all: /, 'Zahlung doch behalten: ')

export const account: Texts['account'] = {
  title: 'Konto',
  spent: 'Verbrauchte Credits in 30 Tagen',
  remove: 'Dein Konto löschen',
  held: {
    title: 'Credits',
    owed: (count) =>
      `Du bist mit ${words.credits(count)} im Minus: Bilder kannst du erst wieder erstellen, wenn du mehr als 0 hast.`,
    price: 'Ein Bild kostet einen oder mehr, je nach Modell.',
  },
  plan: {
    title: 'Abo',
    none: 'Keines',
    since: (date) => <>seit {date}</>,
    until: (date) => <>bis {date}</>,
    needed: 'Um Bilder zu erstellen, brauchst du ein laufendes Abo.',
  },
  password: {
    changeTitle: 'Passwort ändern',
    setTitle: 'Passwort festlegen',
    current: 'Jetziges Passwort',
    next: 'Neues Passwort',
    hint: '. Du bleibst hier angemeldet, und sonst nirgends.',
    change: 'Passwort ändern',
    set: 'Passwort festlegen',
  },
  done: {
    password: 'Dein Passwort ist geändert. Alle anderen Browser sind abgemeldet.',
    session: 'Dieser Browser ist abgemeldet.',
    mails: 'Deine Auswahl der E-Mails ist gespeichert.',
    canceled: 'Deine Adresse bleibt, wie sie ist: Der Link gilt nicht mehr.',
    confirmed: 'Deine Adresse ist bestätigt.',
    language: 'Deine Sprache ist gespeichert.',
  },
  language: {
    title: 'Sprache',
    label: 'Die Website spricht',
    ofBrowser: 'Die Sprache des Browsers',
    save: 'Speichern',
  },
  email: {
    title: 'E-Mail-Adresse',
    yours: (email) => <>Deine Adresse ist {email}. Dorthin gehen Links, mit denen du dich anmeldest.</>,
    none: 'Dein Konto hat keine bestätigte Adresse. Mit einer kannst du dich durch einen Link anmelden, ohne Passwort.',
    pending: (email) => <>{email} ist noch nicht bestätigt.</>,
    ends: (time) => <>Der Link gilt bis {time}.</>,
    sendAgain: 'Noch einmal schicken',
    newLink: 'Neuer Link',
    cancel: 'Abbrechen',
    cancelChange: 'Änderung der Adresse abbrechen',
    newAddress: 'Neue Adresse',
    address: 'Adresse',
    hint: 'Wir schicken einen Link dorthin, um zu bestätigen, dass sie dir gehört.',
    password: 'Dein Passwort',
    change: 'Adresse ändern',
    set: 'Adresse festlegen',
    wrong: 'Das ist keine E-Mail-Adresse. Prüfe sie.',
    tooMany: 'Von dir oder von hier aus wurde um zu viele Links gebeten. Warte eine Viertelstunde.',
    sent: (minutes) =>
      `Ein Link ist an die Adresse unterwegs. Er funktioniert einmal, und nur in den nächsten ${minutes} Minuten.`,
    waits: (minutes) =>
      `Die Adresse muss noch bestätigt werden: Bitte den Betreiber dieser Website um den Link, der ${minutes} Minuten gilt.`,
  },
  mails: {
    title: 'E-Mails',
    none: (add) => <>Du bekommst keine: Dein Konto hat keine E-Mail-Adresse. {add('Gib eine an')}</>,
    when: 'Eine E-Mail schicken, wenn',
    kinds: {
      'credits.low': 'weniger als ein Fünftel deiner Credits übrig ist',
      'credits.out': 'keine Credits mehr übrig sind',
      'payment.failed': 'eine Zahlung für dein Abo fehlgeschlagen ist',
      'subscription.ended': 'dein Abo beendet ist',
    },
    save: 'Speichern',
  },
  sessions: {
    title: 'Wo du angemeldet bist',
    thisOne: 'dieser hier',
    seen: (time) => <>Zuletzt aktiv: {time}</>,
    end: 'Abmelden',
    endAll: 'Überall abmelden',
    confirm: 'Auch hier abmelden?',
  },
  history: {
    title: 'Verlauf der Credits',
    none: (create) => <>Noch wurden keine Credits gebucht. {create('Erstelle ein Bild')}</>,
    what: 'Wofür',
    when: 'Wann',
    by: 'Durch',
    credits: 'Credits',
    balance: 'Stand',
    image: 'Ein Bild',
    givenBack: 'Erstattet',
    canceled: 'Abgebrochen',
    failed: 'Fehlgeschlagen',
    kinds: {
      grant: { badge: 'Gutschrift', text: 'Credits für dein Konto' },
      purchase: { badge: 'Gekauft', text: 'Gekaufte Credits' },
      adjustment: { badge: 'Korrigiert', text: 'Korrektur der Credits' },
      expire: { badge: 'Verfallen', text: 'Credits eines Zeitraums, der vorbei ist' },
    },
    sources: { plan: 'Abo', payment: 'Zahlung', operator: 'Betreiber' },
    note: noteOf,
    website: 'Website',
    unnamedKey: 'Schlüssel ohne Namen',
  },
  deletion: {
    intro: (username) => (
      <>Das Konto {username} endet sofort, und niemand kann es zurückholen. In wenigen Minuten wird auch gelöscht:</>
    ),
    gone: [
      'deine Bilder, auch unter den Adressen, die du anderen gegeben hast, deine Ordner, Prompts und gespeicherten Einstellungen',
      'deine Adresse, deine Anmeldungen und die Wege, dich anzumelden',
      'die Namen deiner Schlüssel, die dann nicht mehr gelten, und deine Webhooks',
    ],
    credits: (count) =>
      count === 1
        ? 'dein letzter Credit; er wird nicht ausgezahlt'
        : `deine ${words.credits(count)}; sie werden nicht ausgezahlt`,
    subscription: 'dein Abo: Es wird nicht verlängert',
    exportFirst: 'Vorher deine Daten herunterladen',
    stays:
      'Ohne deinen Namen bleibt, was berechnet und bezahlt wurde, und wann Bilder welcher Größe entstanden sind. Auch das Protokoll der Betreiber behält ohne deinen Namen, was sie für dein Konto getan haben. Kopien, die andere von deinen Bildern gemacht haben, bleiben bei ihnen.',
    name: 'Gib den Namen deines Kontos ein',
    password: 'Dein Passwort',
    confirm: 'Mein Konto endgültig löschen',
    keep: 'Behalten',
    done: 'Dein Konto ist gelöscht',
    after: 'Du bist überall abgemeldet. Deine Bilder werden in wenigen Minuten entfernt.',
  },
  fields: {
    email: 'E-Mail',
    atLeast: (characters) => `Mindestens ${characters} Zeichen`,
    openLink: 'Öffne den Link in der E-Mail, die wir dorthin geschickt haben.',
    askForLink: 'Von hier werden keine E-Mails verschickt: Bitte den Betreiber dieser Website um den Link.',
  },
}
