/** What the core says of a prompt and its settings, and why a generation failed; as in `refusals.ts`. */
export const generationRefusals: readonly (readonly [english: string, german: string])[] = [
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
  [
    'Canceled: no GPU was free in time. Please try again later.',
    'Abgebrochen: Es wurde nicht rechtzeitig eine GPU frei. Versuche es später noch einmal.',
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
    'seed must be an integer from 0 to {}, or {} for a random one.',
    'Seed: Gib eine ganze Zahl von 0 bis {} ein, oder {} für einen zufälligen.',
  ],
  ['{name} must be an integer from {} to {}.', '{}: Gib eine ganze Zahl von {} bis {} ein.'],
  ['{name} must be a number from {} to {}.', '{}: Gib eine Zahl von {} bis {} ein.'],
  ['{name} must be at most {} for this model.', '{}: Höchstens {} ist möglich mit diesem Modell.'],
  ['{name} must be at least {} for this model.', '{}: Mindestens {} ist nötig mit diesem Modell.'],
  [
    'width and height must be multiples of {} for this model.',
    'Breite und Höhe: Gib Vielfache von {} ein, so verlangt es dieses Modell.',
  ],
  [
    'This model is not set up correctly and cannot be drawn with these settings.',
    'Dieses Modell ist nicht richtig eingerichtet und kann mit diesen Einstellungen nicht gezeichnet werden.',
  ],
  ['{name} must be from {} to {} for {} {}.', '{}: Von {} bis {} ist möglich mit {} {}.'],
  ['{name} must be a multiple of {} for {} {}.', '{}: Gib ein Vielfaches von {} ein, so verlangt es {} {}.'],
  ['{name} must be a multiple of {}.', '{}: Gib ein Vielfaches von {} ein.'],
  ['{name} must be at most {} characters.', '{}: Höchstens {} Zeichen sind möglich.'],
  ['{name} must be one of: {}.', '{}: Möglich sind {}.'],
  [
    '{name} must be valid Unicode text without NUL characters.',
    '{}: Der Text hat Zeichen, die nicht gespeichert werden können. Schreibe ihn noch einmal.',
  ],
  ['model_version_id is required.', 'Wähle ein Modell.'],
  ['model_version_id must be an integer.', 'Wähle ein Modell.'],
  [
    'width × height must be at most {} pixels (such as 2048 × 1536).',
    'Breite × Höhe darf höchstens {} Pixel sein (wie 2048 × 1536).',
  ],
  [
    'width × height must be at most {} pixels for {} {}.',
    'Breite × Höhe darf höchstens {} Pixel sein, so verlangt es {} {}.',
  ],
  [
    'width × height must be at most {} pixels: send both.',
    'Breite × Höhe darf höchstens {} Pixel sein: Gib beides an.',
  ],
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
    'Prompt flagged by moderation: {name} (matched: {}). Rephrase it and try again.',
    'Die Moderation hat den Prompt abgelehnt: {} (gefunden: {}). Formuliere ihn um, und versuche es noch einmal.',
  ],
  [
    'Prompt flagged by moderation: {name}. Rephrase it and try again.',
    'Die Moderation hat den Prompt abgelehnt: {}. Formuliere ihn um, und versuche es noch einmal.',
  ],
  ['Prompt flagged by moderation: {name}.', 'Die Moderation hat den Prompt abgelehnt: {}.'],
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
  ['Generation not found: check the ID.', 'Die Generierung wurde nicht gefunden: Prüfe die ID.'],
  ['The GPU servers cannot be reached right now.', 'Die GPU-Server sind gerade nicht erreichbar.'],
  ['The GPU servers are busy right now.', 'Die GPU-Server sind gerade ausgelastet.'],
  ['The GPU servers cannot be used right now.', 'Die GPU-Server können gerade nicht benutzt werden.'],
  ['The connection to the GPU server was lost.', 'Die Verbindung zum GPU-Server ist abgebrochen.'],
  ['The generation took too long and was stopped.', 'Die Generierung hat zu lange gedauert und wurde angehalten.'],
  [
    'The GPU ran out of memory; try a smaller size or fewer images.',
    'Der Speicher der GPU hat nicht gereicht; versuche es mit einer kleineren Größe oder weniger Bildern.',
  ],
  ['The GPU server failed while generating.', 'Auf dem GPU-Server ist beim Generieren ein Fehler aufgetreten.'],
  ['The GPU server returned an unusable result.', 'Der GPU-Server hat ein unbrauchbares Ergebnis geliefert.'],
  [
    'The GPU server returned an incomplete result. Please submit it again.',
    'Der GPU-Server hat ein unvollständiges Ergebnis geliefert. Starte die Generierung noch einmal.',
  ],
  [
    'The image came out damaged and could not be used; try again.',
    'Das Bild kam beschädigt an und war nicht zu gebrauchen; versuche es noch einmal.',
  ],
  ['The image could not be drawn; try again.', 'Das Bild konnte nicht gezeichnet werden; versuche es noch einmal.'],
  ['The GPU server refused these settings.', 'Der GPU-Server hat diese Einstellungen abgelehnt.'],
  ['These settings are not available on the GPU servers.', 'Diese Einstellungen gibt es auf den GPU-Servern nicht.'],
  ['The model is not available on the GPU servers.', 'Das Modell gibt es auf den GPU-Servern nicht.'],
  ['Seeds above {} are not available on the GPU servers.', 'Seeds über {} gibt es auf den GPU-Servern nicht.'],
  [
    'Only sizes in multiples of {} are available on the GPU servers.',
    'Auf den GPU-Servern gibt es nur Größen in Vielfachen von {}.',
  ],
  [
    'A cfg_scale above {} is not available on the GPU servers.',
    'Eine Guidance über {} gibt es auf den GPU-Servern nicht.',
  ],
  ['The sampler "{name}" is not available on the GPU servers.', 'Den Sampler „{}“ gibt es auf den GPU-Servern nicht.'],
  [
    'The model "{}" is not loaded on any GPU server at the moment. Choose another model.',
    'Das Modell „{}“ ist gerade auf keinem GPU-Server geladen. Wähle ein anderes.',
  ],
  [
    'The sampler "{name}" is not available on the GPU servers. Choose another sampler.',
    'Den Sampler „{}“ gibt es auf den GPU-Servern nicht. Wähle einen anderen.',
  ],
  [
    'The seed {} is too large for the GPU servers. Choose a seed up to 2147483644.',
    'Der Seed {} ist für die GPU-Server zu groß. Wähle einen bis 2147483644.',
  ],
  [
    'The size {} is not available on the GPU servers. Choose a width and a height that are multiples of 64.',
    'Die Größe {} gibt es auf den GPU-Servern nicht. Wähle Breite und Höhe als Vielfache von 64.',
  ],
  [
    'The cfg_scale {} is not available on the GPU servers. Choose one up to 20.',
    'Die Guidance {} gibt es auf den GPU-Servern nicht. Wähle höchstens 20.',
  ],
]
