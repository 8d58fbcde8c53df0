import type { Texts } from '../en/en.js'
import { formats, words } from './words.js'

const noun = {
  negativePrompt: 'ein negativer Prompt',
  steps: 'die Zahl der Schritte',
  cfgScale: 'die Guidance',
  sampler: 'der Sampler',
}
const list = new Intl.ListFormat('de')
const capital = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

export const playground: Texts['playground'] = {
  title: 'Erstellen',
  reloads: 'Diese Seite wird alle 3 Sekunden neu geladen.',
  stopReloading: 'Anhalten, um zu schreiben',
  seeProgress: 'Sieh, wie weit es ist',
  form: {
    prompt: 'Prompt',
    describe: 'Beschreibe das Bild …',
    toWrite: 'zum Schreiben',
    negativePrompt: 'Negativer Prompt',
    reset: 'Einstellungen zurücksetzen',
    notify: 'Sag mir, wenn es fertig ist',
    images: 'Bilder',
    tuning: 'Feineinstellung',
    steps: 'Schritte',
    guidance: 'Guidance (CFG)',
    sampler: 'Sampler',
    seed: 'Seed',
    random: 'Zufällig',
  },
  tooDear: (account) => (
    <>Das kostet mehr Credits, als du hast. Erstelle weniger Bilder, oder sieh in {account('dein Konto')}.</>
  ),
  generate: 'Generieren',
  generateKey: 'Strg ⏎',
  check: {
    because: (field, why) => (
      <>
        Die Moderation würde diesen {field === 'prompt' ? 'Prompt' : 'negativen Prompt'} ablehnen: {why}. Formuliere ihn
        um, bevor du generierst.
      </>
    ),
    quoted: (word) => <>„{word}“</>,
  },
  models: {
    label: 'Modell',
    search: 'Modelle durchsuchen',
    searchHint: 'Modelle durchsuchen …',
    from: (price) => `ab ${price}`,
    notInPlan: 'nicht in deinem Abo',
    warm: 'geladen',
    holds: {
      all_paused: 'pausiert',
      model_paused: 'pausiert',
      backends_paused: 'pausiert',
      no_backend: 'kein GPU-Server',
      no_model: 'kein GPU-Server',
    },
  },
  facts: {
    noEffect: 'Ohne Wirkung',
    byDefault: (own) => `Standard: ${own}`,
    avoid: 'Was nicht zu sehen sein soll …',
    scaled: (scale) => `Die Bilder dieses Modells sind ${formats.number(scale)}-mal so breit und so hoch.`,
    ignored: (names) =>
      `${capital(list.format(names.map((name) => noun[name])))} ${names.length === 1 ? 'hat' : 'haben'} bei diesem Modell keine Wirkung.`,
  },
  sizes: {
    label: 'Format',
    byDefault: 'Standard',
    shapes: { portrait: 'Hochformat', square: 'Quadrat', landscape: 'Querformat', tall: 'Hoch', wide: 'Breit' },
    custom: 'Eigene Größe',
    width: 'Breite',
    height: 'Höhe',
    swap: 'Tauschen',
    keepRatio: 'Verhältnis beibehalten',
  },
  hold: {
    reasons: {
      all_paused: 'Der Betreiber hat das Erstellen von Bildern gerade angehalten.',
      model_paused: 'Der Betreiber hat dieses Modell gerade angehalten.',
      backends_paused: 'Der Betreiber hat die GPU-Server angehalten, die dieses Modell haben.',
      no_backend: 'Im Moment läuft kein GPU-Server.',
      no_model: 'Im Moment läuft kein GPU-Server, der dieses Modell hat.',
    },
    waits: (deadline) => (
      <>
        Dein Bild behält seinen Platz und wird erstellt, sobald sich das geändert hat. Ist das bis spätestens {deadline}{' '}
        nicht möglich, schlägt es fehl, und du bekommst deine Credits zurück.
      </>
    ),
    ahead: 'Du kannst trotzdem generieren: Dein Bild wartet und wird erstellt, sobald sich das geändert hat.',
  },
  stage: {
    label: 'Generierung',
    place: (place) => (place <= 1 ? 'Als Erstes in der Warteschlange' : `Platz ${place} in der Warteschlange`),
    onHold: ', angehalten',
    drawing: 'Das Bild entsteht …',
    cancel: 'Abbrechen',
    leave: 'Du kannst weggehen: Es geht ohne dich weiter und ist hier oder in der Galerie, wenn du zurückkommst.',
    progress: 'Fortschritt',
    left: (seconds) => `noch etwa ${seconds < 90 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`}`,
    done: (seconds) => (seconds === undefined ? 'Fertig' : `Fertig in ${seconds.toFixed(1).replace('.', ',')} s`),
    removed: 'Entfernt',
    all: 'Alle deine Bilder',
    canceled: 'Abgebrochen',
    none: 'Diesmal kein Bild',
    notCharged: 'Es wurde nichts berechnet.',
    refunded: (count) => `Du hast ${words.credits(count)} zurückbekommen.`,
    seedAgain: 'Diesen Seed noch einmal verwenden',
    use: 'Noch einmal:',
    seed: (seed) => `Seed ${seed}`,
    remix: 'Remix',
    download: 'Herunterladen',
    free: 'Die Staffelei ist frei',
    nothing: 'Noch nichts auf der Staffelei',
    begin: 'Schreibe einen Prompt, oder beginne mit einem von diesen:',
  },
  strip: { title: 'Neueste Bilder', untitled: 'Ohne Titel' },
  code: {
    title: 'Dasselbe als Code',
    copy: 'Kopieren',
    about: (key, keys, reference) => (
      <>
        Der Code liest deinen Schlüssel aus {key}: {keys('Erstelle einen')}, oder lies die {reference('API-Referenz')}.
      </>
    ),
  },
  upNext: {
    title: 'Als Nächstes',
    add: 'Als Nächstes einreihen',
    save: 'In „Als Nächstes“ speichern',
    pause: 'Anhalten',
    goOn: 'Weiter',
    clear: 'Leeren',
    clearConfirm: 'Wirklich alle entfernen?',
    ideas: (count) => `${formats.number(count)} ${count === 1 ? 'Idee' : 'Ideen'}`,
    pausedEmpty: 'Angehalten. Ideen, die du einreihst, warten hier, bis du „Weiter“ drückst.',
    paused: (ideas) => `${ideas}. Angehalten: Drücke „Weiter“, damit die erste beginnt.`,
    refused: (ideas) =>
      `${ideas}. Angehalten, weil eine abgelehnt wurde. Bearbeite oder entferne sie, dann drücke „Weiter“.`,
    waiting: (ideas, running) =>
      `${ideas}. ${running ? 'Die erste beginnt, wenn das Bild darüber beendet ist' : 'Die erste beginnt gleich'}, auch wenn du nicht da bist; jede wird berechnet, wenn sie beginnt.`,
    move: 'Nach',
    up: 'oben',
    down: 'unten',
    edit: 'Bearbeiten',
    remove: 'Entfernen',
    noModel: 'Das Modell dazu wird nicht mehr angeboten.',
    editing: 'Du änderst eine Idee, die eingereiht ist.',
    leave: 'Lass sie, wie sie ist',
  },
  saved: {
    title: 'Gespeicherte Einstellungen',
    apply: 'Anwenden',
    begin: 'Diese Einstellungen speichern …',
    manage: 'Umbenennen oder löschen',
    name: 'Name dieser Einstellungen',
    style: 'Stil: Wörter für das Ende jedes Prompts, wenn du welche willst',
    styleHint: 'weiche Aquarellfarben, gedämpfte Töne',
    what: 'Gespeichert werden das Modell, das Format, der negative Prompt und die Feineinstellung; nicht der Prompt und der Seed.',
    save: 'Speichern',
    replace: 'Die anderen ersetzen',
    newName: (name) => `Neuer Name von „${name}“`,
    rename: 'Umbenennen',
    remove: 'Löschen',
    removeConfirm: 'Wirklich löschen?',
    done: (name) => `Als „${name}“ gespeichert.`,
    taken: (name) => `Du hast schon Einstellungen namens „${name}“: Wähle einen anderen Namen, oder ersetze sie.`,
    removed: 'Gelöscht.',
    renamed: 'Umbenannt.',
    gone: 'Diese Einstellungen gibt es nicht mehr: Wähle andere.',
    notInPlan: 'Dein Abo enthält das Modell dieser Einstellungen nicht: Der Rest wurde angewandt.',
    notOffered: 'Das Modell dieser Einstellungen wird nicht mehr angeboten: Der Rest wurde angewandt.',
  },
  problems: {
    noPrompt: 'Schreibe zuerst einen Prompt.',
    incomplete: 'Das Formular ist nicht vollständig: Prüfe seine Felder.',
    running:
      'Es läuft schon eine Generierung. Drücke „Als Nächstes einreihen“, damit diese danach beginnt, oder warte.',
    modelGone: 'Dieses Modell wird nicht mehr angeboten. Wähle ein anderes.',
    account: 'Dein Konto kann von hier nicht mehr verwendet werden.',
    signIn: 'Melde dich noch einmal an.',
    plan: 'Sieh dir dein Abo an.',
    credits: 'Sieh dir deine Credits an.',
    noModels: 'Gerade wird kein Modell angeboten. Komm etwas später wieder.',
    noneInPlan: 'Gerade wird kein Modell deines Abos angeboten.',
    lost: 'Dieses Bild gehört dir nicht oder wurde entfernt: Beginne mit einem eigenen Prompt.',
    begun: 'Diese Idee ist nicht mehr eingereiht: Sie hat begonnen oder wurde entfernt.',
    notOffered: 'Das gewünschte Modell wird nicht mehr angeboten: Prüfe, welches gewählt ist.',
    notInPlan: 'Dein Abo enthält das gewünschte Modell nicht: Prüfe, welches gewählt ist.',
  },
  script: {
    credits: { one: '# Credit', other: '# Credits' },
    noModel: 'Kein Modell passt: Versuche ein anderes Wort.',
    image: 'Bild',
    close: 'Schließen',
    previous: 'Vorheriges',
    next: 'Nächstes',
    of: 'von',
    done: 'Fertig',
    imageDone: 'Dein Bild ist fertig',
  },
}
