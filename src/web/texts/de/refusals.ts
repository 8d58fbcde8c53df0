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
    'This request came from another website, so nothing was done. Open the page here and repeat.',
    'Diese Anfrage kam von einer anderen Website, darum ist nichts geschehen. Öffne die Seite hier, und wiederhole es.',
  ],
  [
    'The service is temporarily unavailable. Try again in a moment.',
    'Der Dienst ist gerade nicht erreichbar. Versuche es gleich noch einmal.',
  ],
  ['This server is restarting. Try again in a moment.', 'Dieser Server startet neu. Versuche es gleich noch einmal.'],
  ['from must not be after the last day.', 'Der erste Tag darf nicht nach dem letzten liegen.'],
  [
    'No active subscription: {} to generate images.',
    'Kein aktives Abo: Ohne ein Abo kannst du keine Bilder erstellen.',
  ],
  [
    'Your plan "{}" does not include {}. Choose another one, or change your plan.',
    'Dein Abo „{}“ enthält dieses Modell nicht. Wähle ein anderes, oder ändere dein Abo.',
  ],
  [
    'Insufficient credits: this generation needs {} and the account holds {}. Add credits and try again.',
    'Zu wenig Credits: Diese Generierung kostet {}, und du hast {}. Lade Credits nach, und versuche es noch einmal.',
  ],
  [
    'Prompt flagged by moderation: {}{}. Rephrase it and try again.',
    'Die Moderation hat den Prompt abgelehnt: {}{}. Formuliere ihn um, und versuche es noch einmal.',
  ],
  ['Prompt flagged by moderation: {}.', 'Die Moderation hat den Prompt abgelehnt: {}.'],
  [
    'The prompt could not be checked by moderation right now. Try again in a moment.',
    'Die Moderation konnte den Prompt gerade nicht prüfen. Versuche es gleich noch einmal.',
  ],
  [
    'This idea is not in Up next any more: it was begun, changed or removed. Add it again.',
    'Diese Idee ist nicht mehr eingereiht: Sie hat begonnen oder wurde geändert oder entfernt. Reihe sie noch einmal ein.',
  ],
  [
    'Up next holds {} ideas, the most there may be: remove one first.',
    'Es sind {} Ideen eingereiht, mehr sind nicht möglich: Entferne zuerst eine.',
  ],
  [
    'Its model is not on offer any more. Edit it to choose another one, or remove it.',
    'Das Modell dazu wird nicht mehr angeboten. Bearbeite die Idee, um ein anderes zu wählen, oder entferne sie.',
  ],
  [
    '{}: delete some first, or save under a name that you have.',
    'Du hast so viele gespeicherte Einstellungen, wie möglich sind: Lösche zuerst welche, oder speichere unter einem Namen, den es schon gibt.',
  ],
  [
    'You have settings named "{}": choose another name.',
    'Du hast schon Einstellungen namens „{}“: Wähle einen anderen Namen.',
  ],
  ['These settings are gone: choose others.', 'Diese Einstellungen gibt es nicht mehr: Wähle andere.'],
  [
    'Give the settings a name of 1 to {} characters, on one line.',
    'Gib den Einstellungen einen Namen mit 1 bis {} Zeichen, in einer Zeile.',
  ],
  ['The style must be at most {} characters of text.', 'Der Stil darf höchstens {} Zeichen Text haben.'],
  ['Generation not found: check the ID.', 'Die Generierung wurde nicht gefunden: Prüfe die ID.'],
  [
    'The generation was not finished before its deadline. {}',
    'Die Generierung wurde nicht rechtzeitig fertig. Starte sie noch einmal.',
  ],
  [
    'The generation could not be finished: the GPU workers running it stopped several times. {}',
    'Die Generierung konnte nicht beendet werden: Die GPU-Worker dafür sind mehrmals ausgefallen. Starte sie noch einmal.',
  ],
  [
    'The images were drawn but could not be stored. {}',
    'Die Bilder sind entstanden, konnten aber nicht gespeichert werden. Starte die Generierung noch einmal.',
  ],
  [
    'The image is too large to be stored. Choose a smaller width and height.',
    'Das Bild ist zu groß, um gespeichert zu werden. Wähle eine kleinere Breite und Höhe.',
  ],
  ['An image was refused by moderation.', 'Die Moderation hat ein Bild abgelehnt.'],
  [
    'The images could not be checked by moderation before they are published. {}',
    'Die Moderation konnte die Bilder vor der Veröffentlichung nicht prüfen. Starte die Generierung noch einmal.',
  ],
  [
    'The generation failed because of an internal error. {}',
    'Die Generierung ist durch einen internen Fehler fehlgeschlagen. Starte sie noch einmal.',
  ],
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
  [
    'seed must be an integer from 0 to {}, or {} for a random one.',
    'Seed: Gib eine ganze Zahl von 0 bis {} ein, oder {} für einen zufälligen.',
  ],
  ['{} must be an integer from {} to {}.', '{}: Gib eine ganze Zahl von {} bis {} ein.'],
  ['{} must be a number from {} to {}.', '{}: Gib eine Zahl von {} bis {} ein.'],
  ['{} must be from {} to {} for {} {}.', '{}: Von {} bis {} ist möglich mit {} {}.'],
  ['{} must be a multiple of {} for {} {}.', '{}: Gib ein Vielfaches von {} ein, so verlangt es {} {}.'],
  ['{} must be a multiple of {}.', '{}: Gib ein Vielfaches von {} ein.'],
  ['{} must be at most {} characters.', '{}: Höchstens {} Zeichen sind möglich.'],
  [
    'width × height must be at most {} pixels (such as 2048 × 1536).',
    'Breite × Höhe darf höchstens {} Pixel sein (wie 2048 × 1536).',
  ],
]

/** What a sentence that begins with the name of a field of the API says instead. */
export const fields: ReadonlyMap<string, string> = new Map([
  ['prompt', 'Prompt'],
  ['negative_prompt', 'Negativer Prompt'],
  ['width', 'Breite'],
  ['height', 'Höhe'],
  ['batch_size', 'Zahl der Bilder'],
  ['steps', 'Zahl der Schritte'],
  ['cfg_scale', 'Guidance'],
  ['seed', 'Seed'],
])
