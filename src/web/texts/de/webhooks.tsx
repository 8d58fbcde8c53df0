import type { Texts } from '../en/en.js'

export const webhooks: Texts['webhooks'] = {
  title: 'Webhooks',
  lead: (keys, reference) => (
    <>
      Dein Server erfährt, wann eine Generierung endet, statt danach zu fragen: sowohl bei denen mit einem{' '}
      {keys('Schlüssel')} als auch bei denen von hier. {reference('Lies, wie man ein Ereignis prüft')}.
    </>
  ),
  yours: 'Deine Webhooks',
  none: 'Noch keine Webhooks. Füge unten den ersten hinzu.',
  url: 'URL',
  events: 'Ereignisse',
  added: 'Hinzugefügt',
  status: 'Status',
  all: 'Alle',
  most: (count) => `Du hast ${count} Webhooks, mehr sind nicht möglich. Lösche einen, um einen anderen hinzuzufügen.`,
  statuses: { enabled: 'aktiv', disabled: 'abgeschaltet', paused: 'pausiert' },
  add: {
    title: 'Webhook hinzufügen',
    description: 'Beschreibung (freiwillig)',
    when: 'Ein Ereignis schicken, wenn',
    submit: 'Webhook hinzufügen',
    eventNames: {
      'generation.succeeded': 'ein Bild der Personal Access API oder dieser Website fertig ist',
      'generation.failed': 'eine Generierung fehlgeschlagen ist',
      'image.completed': 'ein Bild von Create Image fertig ist',
      'credits.low': 'weniger als ein Fünftel deiner Credits übrig ist',
      'subscription.changed': 'sich dein Abo geändert hat oder beendet ist',
    },
  },
  one: {
    title: 'Webhook',
    allWebhooks: 'Alle Webhooks',
    about: 'Über diesen Webhook',
    description: 'Beschreibung',
    test: 'Test schicken',
    rotate: 'Geheimnis erneuern',
    rotateConfirm: 'Neues Geheimnis?',
    remove: 'Löschen',
    removeConfirm: 'Endgültig löschen?',
    rotation: (hours) => `Danach unterschreibt das alte Geheimnis noch ${hours} Stunden neben dem neuen.`,
  },
  secret: {
    title: 'Kopiere das Geheimnis jetzt',
    once: 'Es wird nur dieses eine Mal gezeigt. Damit prüft dein Server, dass ein Ereignis von hier kommt.',
    label: 'Geheimnis für die Unterschrift',
  },
  deliveries: {
    title: 'Zustellungen',
    paused: (until) => <>Nach Fehlversuchen pausiert: Bis {until} wird nichts geschickt.</>,
    none: 'Es wurde noch nichts geschickt.',
    tryOne: 'Schicke einen Test, um zu sehen, ob dein Server antwortet.',
    event: 'Ereignis',
    created: 'Erstellt',
    status: 'Status',
    tries: 'Versuche',
    next: 'Nächster Versuch',
    noNext: 'Keiner',
    statuses: { pending: 'ausstehend', delivered: 'zugestellt', failed: 'fehlgeschlagen' },
    faults: {
      address_refused: 'Der Name führt zu einer Adresse, die nicht aufgerufen werden darf.',
      dns_failed: 'Der Name wurde nicht gefunden.',
      connection_failed: 'Keine Verbindung.',
      tls_failed: 'Das Zertifikat ist nicht gültig.',
      timed_out: 'Keine rechtzeitige Antwort.',
      redirected: 'Die Antwort war eine Weiterleitung; ihr wird nicht gefolgt.',
      status_not_2xx: 'Die Antwort hatte keinen Status 2xx.',
      endpoint_gone: 'Die Antwort war 410 Gone.',
      endpoint_ended: 'Der Webhook wurde gelöscht oder abgeschaltet.',
      picture_removed: 'Das Bild wurde entfernt.',
      too_old: 'Das Ereignis hat zu lange gewartet.',
    },
  },
}
