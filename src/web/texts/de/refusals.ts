/** What the core says when it refuses something, and how that is said in German. `{}` stands for what differs. */
export const refusals: readonly (readonly [english: string, german: string])[] = [
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
    'The service is temporarily unavailable. Try again in a moment.',
    'Der Dienst ist gerade nicht erreichbar. Versuche es gleich noch einmal.',
  ],
  ['This server is restarting. Try again in a moment.', 'Dieser Server startet neu. Versuche es gleich noch einmal.'],
  ['from must not be after the last day.', 'Der erste Tag darf nicht nach dem letzten liegen.'],
]
