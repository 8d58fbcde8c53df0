import { generationRefusals } from './generation-refusals.js'

/**
 * What the core says when it refuses something, and how that is said in German; the first that fits. `{}` stands for what
 * differs, and `{name}` for one of `names`, or a sampler.
 */
export const refusals: readonly (readonly [english: string, german: string])[] = [
  ...generationRefusals,
  ['This folder is gone: choose another one.', 'Diesen Ordner gibt es nicht mehr: Wähle einen anderen.'],
  [
    'You have {} folders, the most there may be: delete one first.',
    'Du hast {} Ordner, mehr sind nicht möglich: Lösche zuerst einen.',
  ],
  [
    'You have a folder named "{}": choose another name.',
    'Du hast schon einen Ordner namens „{}“: Wähle einen anderen Namen.',
  ],
  [
    'Give the folder a name of 1 to {} characters, on one line.',
    'Gib dem Ordner einen Namen mit 1 bis {} Zeichen, in einer Zeile.',
  ],
  ['Choose a folder, or name a new one.', 'Wähle einen Ordner, oder gib einem neuen einen Namen.'],
  ['Select one or more images first.', 'Wähle zuerst ein oder mehrere Bilder aus.'],
  [
    'None of these images is yours any more: reload the page.',
    'Keines dieser Bilder gehört dir noch: Lade die Seite neu.',
  ],
  [
    'The file of this image is missing on the server: tell its operator.',
    'Die Datei dieses Bildes fehlt auf dem Server: Sag es dem Betreiber.',
  ],
  ['Select {} images at most.', 'Wähle höchstens {} Bilder aus.'],
  ['Select exactly two images to compare them.', 'Wähle genau zwei Bilder aus, um sie zu vergleichen.'],
  ['It is too late: these images are deleted for good.', 'Es ist zu spät: Diese Bilder sind endgültig gelöscht.'],
  [
    'There is no page at this address. Check the link, or begin at the front page.',
    'Unter dieser Adresse gibt es keine Seite. Prüfe den Link, oder beginne auf der Startseite.',
  ],
  ['Image not found: check the ID.', 'Das Bild wurde nicht gefunden: Prüfe die ID.'],
  ['This image was removed and is no longer available.', 'Dieses Bild wurde entfernt und ist nicht mehr verfügbar.'],
  [
    'You have reached the rate limit of {} requests per {} seconds. Try again in {} s.',
    'Mehr als {} Anfragen in {} Sekunden sind nicht erlaubt. Versuche es in {} s noch einmal.',
  ],
  [
    'Too many tries. Wait a quarter of an hour, then try again.',
    'Zu viele Versuche. Warte eine Viertelstunde, dann versuche es noch einmal.',
  ],
  [
    'That cannot be a username. Use 1 to 64 letters, digits, dots, hyphens and underscores, and begin with a letter or digit.',
    'Das kann kein Benutzername sein. Nimm 1 bis 64 Buchstaben von A bis Z, Ziffern, Punkte, Bindestriche und Unterstriche, und beginne mit einem Buchstaben oder einer Ziffer.',
  ],
  [
    'That looks like a web address. Leave out the dot, or use a hyphen.',
    'Das sieht aus wie eine Webadresse. Lass den Punkt weg, oder nimm einen Bindestrich.',
  ],
  [
    'A username has at most {} words. Choose a shorter one.',
    'Ein Benutzername hat höchstens {} Wörter. Wähle einen kürzeren.',
  ],
  [
    'That name could be taken for somebody who runs this site. Choose another one.',
    'Bei diesem Namen könnte man denken, dass du diese Website betreibst. Wähle einen anderen.',
  ],
  ['A password has {} to {} characters. Choose another one.', 'Ein Passwort hat {} bis {} Zeichen. Wähle ein anderes.'],
  [
    'The password must not be the username. Choose another one.',
    'Das Passwort darf nicht der Benutzername sein. Wähle ein anderes.',
  ],
  [
    'This page was opened over http://, where your browser keeps no session. Open {} instead.',
    'Diese Seite wurde über http:// geöffnet, wo dein Browser keine Anmeldung behält. Öffne stattdessen {}.',
  ],
  [
    'This request came from another website, so nothing was done. Open the page here and repeat.',
    'Diese Anfrage kam von einer anderen Website, darum ist nichts geschehen. Öffne die Seite hier, und wiederhole es.',
  ],
  [
    'Somebody else is signed in here by now, so nothing was done. Load the page again, or sign in as before.',
    'Hier ist inzwischen jemand anders angemeldet, darum ist nichts geschehen. Lade die Seite neu, oder melde dich an wie zuvor.',
  ],
  [
    'The service is temporarily unavailable. Try again in a moment.',
    'Der Dienst ist gerade nicht erreichbar. Versuche es gleich noch einmal.',
  ],
  ['This server is restarting. Try again in a moment.', 'Dieser Server startet neu. Versuche es gleich noch einmal.'],
  [
    'The request body is larger than {} KiB: shorten it.',
    'Das Formular ist größer als {} KiB: Kürze, was darin steht.',
  ],
  ['Method {} is not allowed on {}: use {}.', 'Die Methode {} ist für {} nicht erlaubt: Verwende {}.'],
  [
    'You have {} keys, the most there may be: revoke one first.',
    'Du hast {} Schlüssel, mehr sind nicht möglich: Widerrufe zuerst einen.',
  ],
  [
    'You have no such key: it may be revoked. Reload the page.',
    'Diesen Schlüssel hast du nicht: Vielleicht ist er widerrufen. Lade die Seite neu.',
  ],
  [
    'The end of a key must be a later date, like 2027-01-31; leave it empty for none.',
    'Das Ende eines Schlüssels muss ein späterer Tag sein, wie 2027-01-31; ohne Ende lass es leer.',
  ],
  [
    'The credits a month must be a whole number from 1; leave it empty for no limit.',
    'Credits pro Monat: Gib eine ganze Zahl ab 1 ein; ohne Grenze lass das Feld leer.',
  ],
  [
    'Give the key a name of 1 to {} characters, on one line.',
    'Gib dem Schlüssel einen Namen mit 1 bis {} Zeichen, in einer Zeile.',
  ],
  [
    'You have {} webhook endpoints, the most there may be: delete one first.',
    'Du hast {} Webhooks, mehr sind nicht möglich: Lösche zuerst einen.',
  ],
  ['It answered 410 Gone. A test enables it again.', 'Die Antwort war 410 Gone. Ein Test schaltet ihn wieder ein.'],
  [
    'Nothing could be delivered for 3 days ({}). A test enables it again.',
    'Drei Tage lang konnte nichts zugestellt werden ({}). Ein Test schaltet ihn wieder ein.',
  ],
  ['Choose one or more events.', 'Wähle ein oder mehrere Ereignisse.'],
  ['{name} must have at most {} characters.', '{}: Höchstens {} Zeichen sind möglich.'],
  ['{name} must be a URL that begins with https://.', '{}: Gib eine Adresse ein, die mit https:// beginnt.'],
  [
    '{name} must be a URL that begins with https:// or http://.',
    '{}: Gib eine Adresse ein, die mit https:// oder http:// beginnt.',
  ],
  [
    '{name} must not hold a user or a password: put a secret into its path or query.',
    '{}: Ein Benutzer oder ein Passwort darf nicht darin stehen. Schreibe ein Geheimnis in den Pfad oder hinter das Fragezeichen.',
  ],
  ['{name} must use port 443, 80, or one from {} up.', '{}: Nimm den Port 443, 80 oder einen ab {}.'],
  [
    '{name} must point to a public address: this one is inside a network.',
    '{}: Gib eine öffentliche Adresse an; diese liegt in einem internen Netz.',
  ],
  ['{name} must be a day such as 2026-01-31.', '{}: Gib einen Tag ein, wie 2026-01-31.'],
  [
    'from must be within {} days with the last day: choose a shorter time.',
    'Höchstens {} Tage sind möglich: Wähle einen kürzeren Zeitraum.',
  ],
  ['from must not be after the last day.', 'Der erste Tag darf nicht nach dem letzten liegen.'],
  [
    '{}: delete some first, or save under a name that you have.',
    'Du hast so viele gespeicherte Einstellungen, wie möglich sind: Lösche zuerst welche, oder speichere unter einem Namen, den es schon gibt.',
  ],
  [
    'You have settings named "{}": choose another name.',
    'Du hast schon Einstellungen namens „{}“: Wähle einen anderen Namen.',
  ],
  [
    'The form of these settings is no JSON: load the page again.',
    'Das Formular dieser Einstellungen ist kein JSON: Lade die Seite noch einmal.',
  ],
  ['These settings are gone: choose others.', 'Diese Einstellungen gibt es nicht mehr: Wähle andere.'],
  [
    'Give the settings a name of 1 to {} characters, on one line.',
    'Gib den Einstellungen einen Namen mit 1 bis {} Zeichen, in einer Zeile.',
  ],
  ['The style must be at most {} characters of text.', 'Der Stil darf höchstens {} Zeichen Text haben.'],
  [
    'This is your own image: delete it on its page instead.',
    'Das ist dein eigenes Bild: Lösche es stattdessen auf seiner Seite.',
  ],
  [
    'The note has characters that cannot be stored. Type it again.',
    'Die Notiz hat Zeichen, die nicht gespeichert werden können. Schreibe sie noch einmal.',
  ],
  ['The note may have {} characters. Shorten it.', 'Die Notiz darf {} Zeichen haben. Kürze sie.'],
  ['Say in the note what is wrong with the image.', 'Schreibe in die Notiz, was mit dem Bild nicht stimmt.'],
]

/** The fields of the API, and the categories of moderation that come with Easel or from OpenAI's endpoint. */
export const names: ReadonlyMap<string, string> = new Map([
  ['prompt', 'Prompt'],
  ['negative_prompt', 'Negativer Prompt'],
  ['width', 'Breite'],
  ['height', 'Höhe'],
  ['batch_size', 'Zahl der Bilder'],
  ['steps', 'Zahl der Schritte'],
  ['cfg_scale', 'Guidance'],
  ['sampler', 'Sampler'],
  ['seed', 'Seed'],
  ['url', 'URL'],
  ['description', 'Beschreibung'],
  ['from', 'Von'],
  ['to', 'Bis'],
  ['sexual content with minors', 'sexuelle Inhalte mit Minderjährigen'],
  ['sexual acts with animals', 'sexuelle Handlungen mit Tieren'],
  ['sexual acts with the dead', 'sexuelle Handlungen mit Toten'],
  ['sexual violence', 'sexuelle Gewalt'],
  ['harassment', 'Belästigung'],
  ['harassment/threatening', 'Belästigung und Drohungen'],
  ['hate', 'Hass'],
  ['hate/threatening', 'Hass und Drohungen'],
  ['illicit', 'Anleitungen zu Verbotenem'],
  ['illicit/violent', 'Anleitungen zu Gewalttaten'],
  ['self-harm', 'Selbstverletzung'],
  ['self-harm/intent', 'Absicht, sich zu verletzen'],
  ['self-harm/instructions', 'Anleitungen zur Selbstverletzung'],
  ['sexual', 'sexuelle Inhalte'],
  ['sexual/minors', 'sexuelle Inhalte mit Minderjährigen'],
  ['violence', 'Gewalt'],
  ['violence/graphic', 'drastische Gewalt'],
  ['disallowed content', 'nicht erlaubte Inhalte'],
])
