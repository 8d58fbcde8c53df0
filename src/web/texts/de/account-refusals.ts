/** What the core says when it refuses what an account asks of itself, and in German, as in `refusals.ts`. */
export const accountRefusals: readonly (readonly [english: string, german: string])[] = [
  ['This is your address already. Fill in the new one.', 'Das ist schon deine Adresse. Gib die neue ein.'],
  [
    'No address waits to be confirmed. Fill in the one that you want.',
    'Keine Adresse muss noch bestätigt werden. Gib die ein, die du haben willst.',
  ],
  [
    'Another export of this account is being made: wait until that download has ended, then try again.',
    'Deine Daten werden schon heruntergeladen: Warte, bis das zu Ende ist, und versuche es dann noch einmal.',
  ],
  [
    'Too many mails were sent to this address. Wait a quarter of an hour.',
    'An diese Adresse wurden zu viele E-Mails geschickt. Warte eine Viertelstunde.',
  ],
  [
    'The current password is not right. Nothing was changed: try again, or sign in by a link, on whose page you can set a new one.',
    'Das jetzige Passwort stimmt nicht. Nichts wurde geändert: Versuche es noch einmal, oder melde dich mit einem Link an. Auf dessen Seite kannst du ein neues festlegen.',
  ],
  [
    'Your account has no password to ask you for. Sign out, sign in again, and do this within {} minutes.',
    'Dein Konto hat kein Passwort, nach dem wir dich fragen könnten. Melde dich ab und wieder an, und tu dies innerhalb von {} Minuten.',
  ],
  [
    'You are an operator: have another one make yours an ordinary account first.',
    'Du bist Betreiber: Lass zuerst einen anderen dein Konto zu einem gewöhnlichen machen.',
  ],
  [
    'This is not the name of your account. Type it as it is written above.',
    'Das ist nicht der Name deines Kontos. Gib ihn so ein, wie er oben steht.',
  ],
  [
    'The payment provider cannot do this right now, and nothing was charged. Try again in a minute.',
    'Der Zahlungsdienst kann das gerade nicht tun, und nichts wurde abgebucht. Versuche es in einer Minute noch einmal.',
  ],
  [
    'This plan is not for sale any more: choose another one.',
    'Dieses Abo wird nicht mehr verkauft: Wähle ein anderes.',
  ],
  [
    'This pack of credits is not for sale any more: choose another one.',
    'Dieses Paket Credits wird nicht mehr verkauft: Wähle ein anderes.',
  ],
  [
    'This is sold in another currency than what you have paid for here: choose something else, or write to who runs this site.',
    'Das wird in einer anderen Währung verkauft als das, was du hier bezahlt hast: Wähle etwas anderes, oder schreibe dem Betreiber dieser Website.',
  ],
  [
    'The payment provider refuses this, and nothing was charged. Trying again will not help: write to who runs this site.',
    'Der Zahlungsdienst lehnt das ab, und nichts wurde abgebucht. Es noch einmal zu versuchen hilft nicht: Schreibe dem Betreiber dieser Website.',
  ],
  [
    'You have paid nothing here yet, so there is nothing to manage.',
    'Du hast hier noch nichts bezahlt, also gibt es nichts zu verwalten.',
  ],
]
