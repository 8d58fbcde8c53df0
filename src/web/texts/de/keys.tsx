import type { Texts } from '../en/en.js'
import { formats, words } from './words.js'

export const keys: Texts['keys'] = {
  title: 'Schlüssel',
  heading: 'Personal Access API',
  lead: (reference, webhooks) => (
    <>
      Mit einem Schlüssel erstellen deine eigenen Programme Bilder über dein Konto und mit seinen Credits.{' '}
      {reference('Lies die API-Referenz')}, oder lass dir Ereignisse durch {webhooks('Webhooks')} schicken.
    </>
  ),
  yours: 'Deine Schlüssel',
  none: 'Noch keine Schlüssel.',
  createFirst: 'Lege oben den ersten an.',
  created: {
    title: 'Kopiere den Schlüssel jetzt',
    once: 'Er wird nur dieses eine Mal gezeigt: Gespeichert ist nur sein Fingerabdruck. Halte ihn geheim, wie ein Passwort.',
    label: 'Dein neuer Schlüssel',
    try: 'Probiere ihn aus. Diese Anfrage liest nur dein Konto und kostet nichts:',
    tryAsOperator: 'Probiere ihn aus. Diese Anfrage liest nur, was wartet und läuft:',
    copyRequest: 'Anfrage kopieren',
  },
  create: {
    name: 'Name des Schlüssels',
    example: 'Skripte am Laptop',
    submit: 'Schlüssel anlegen',
    hint: (length, held, most) =>
      `Wofür er ist, mit höchstens ${length} Zeichen. Du hast ${held} von ${most} Schlüsseln.`,
  },
  noSubscription: {
    title: 'Schlüssel brauchen ein laufendes Abo',
    plan: (plan, status, since) => (
      <>
        Dein Abo {plan} ist {since && <>seit {since} </>}
        {status}.
      </>
    ),
    none: 'Dein Konto hat kein Abo.',
    later:
      'Neue Schlüssel kannst du anlegen, sobald es läuft. Bis dahin können deine Schlüssel lesen, aber keine Bilder erstellen.',
    account: 'Zu deinem Konto',
  },
  table: {
    name: 'Name',
    created: 'Angelegt',
    lastUsed: 'Zuletzt benutzt',
    spent: 'Verbraucht in 30 Tagen',
    actions: 'Aktionen',
    unnamed: 'Ohne Namen',
    neverUsed: 'Nie benutzt',
    metered: 'Nur gezählt',
    kinds: { personal: 'persönlich', developer: 'Entwickler', operator: 'Betreiber', website: 'Website' },
    rename: 'Umbenennen',
    newName: 'Neuer Name',
    save: 'Speichern',
    revoke: 'Widerrufen',
    confirm: 'Endgültig widerrufen?',
  },
  limits: {
    title: 'Grenzen',
    of: (name) => <>Grenzen von {name}</>,
    unnamed: 'einem Schlüssel ohne Namen',
    until: 'Gilt bis zum Ende des',
    untilHint: 'Ein Tag in UTC. Leer: ohne Ende.',
    endsAt: (time) => ` Er endet an diesem Tag um ${time}, bis du einen anderen wählst.`,
    monthly: 'Credits pro Monat',
    monthlyHint: 'Was er in einem Kalendermonat ausgeben darf, in UTC. Leer: alles, was du hast.',
    models: 'Modelle',
    modelsHint: 'Keines angekreuzt: alle.',
    notOnOffer: (id) => `Modellversion ${id}, zurzeit nicht im Angebot`,
    ends: 'Bis',
    expired: 'Abgelaufen',
    spent: (spent, limit) => `${formats.number(spent)} von ${words.credits(limit)} in diesem Monat`,
    only: (count) => `Nur für ${count === 1 ? 'ein Modell' : `${formats.number(count)} Modelle`}`,
    save: 'Grenzen speichern',
    cancel: 'Abbrechen',
  },
  done: {
    limits: 'Der Schlüssel hat seine neuen Grenzen.',
    renamed: 'Der Schlüssel hat seinen neuen Namen.',
    revoked: 'Der Schlüssel ist widerrufen. Er gilt nirgends mehr.',
  },
}
