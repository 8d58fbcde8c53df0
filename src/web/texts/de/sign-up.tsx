import type { Texts } from '../en/en.js'
import { words } from './words.js'

export const signUp: Texts['signUp'] = {
  title: 'Konto anlegen',
  username: 'Benutzername',
  email: 'E-Mail',
  emailHint: 'Dorthin schicken wir einen Link, mit dem du bestätigst, dass die Adresse dir gehört.',
  password: 'Passwort',
  passwordHint: '; am besten ein paar Wörter.',
  submit: 'Konto anlegen',
  haveOne: 'Du hast schon eines?',
  problems: {
    noEmail: 'Das ist keine E-Mail-Adresse. Prüfe sie.',
    taken: 'Diesen Benutzernamen hat schon jemand. Wähle einen, der ihm nicht ähnlich sieht.',
    tooMany: 'Von hier wurden zu viele Konten angelegt. Warte eine Stunde.',
  },
  confirm: {
    title: 'Adresse bestätigen',
    what: (username, before) => (
      <>
        Das Konto {username} bekommt die Adresse, an die dieser Link geschickt wurde
        {before && <>, anstelle von {before}</>}.
      </>
    ),
    submit: 'Bestätigen',
    account: 'Zu deinem Konto',
    problems: {
      over: 'Dieser Link wurde schon benutzt, ist zu alt oder wurde für ein anderes Konto geschickt. Lass dir in deinem Konto einen neuen schicken.',
      taken: 'Diese Adresse gehört zu einem anderen Konto. Melde dich bei ihm an, oder nimm eine andere Adresse.',
    },
  },
  welcome: {
    title: 'Willkommen',
    heading: 'Dein Konto ist bereit',
    signedIn: (username) => <>Du bist als {username} angemeldet. So geht es weiter:</>,
    address: {
      step: 'Bestätige deine Adresse.',
      done: (email) => <>Erledigt: Links zum Anmelden gehen an {email}.</>,
      notYet: (email) => <>{email} ist noch nicht bestätigt.</>,
      again: 'Link noch einmal schicken, oder die Adresse ändern',
      set: 'Adresse eintragen',
    },
    plan: {
      step: 'Hol dir ein Abo.',
      yours: (plan, credits) => (
        <>
          Du hast das Abo {plan} und {words.credits(credits)}.
        </>
      ),
      needed: 'Um Bilder zu erstellen, brauchst du eines.',
      see: 'Abos ansehen',
      ask: 'Um Bilder zu erstellen, brauchst du eines: Frage den Betreiber dieser Website.',
    },
    image: {
      step: 'Erstelle dein erstes Bild.',
      how: 'Schreib, was es zeigen soll, wähle ein Modell, und drücke „Generieren“.',
    },
    create: 'Bilder erstellen',
  },
}
