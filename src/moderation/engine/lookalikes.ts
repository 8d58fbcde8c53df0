import { confusables } from './confusables.js'

/**
 * Characters that people read as a Latin letter although neither Unicode's compatibility forms nor `confusables` map them:
 * turned letters, and the alphabets of "fancy text" generators. Chosen by eye, generously: a character may stand for
 * several letters, and also stands for itself.
 */
const alphabets: Readonly<Record<string, string>> = {
  a: 'ɑɐαᴀаАДдⲁᎪꓮꭺᗅᗩ₳Ⱥⱥ卂คλΛ∀əΔÆæ🅐🅰ᚨᴬₐ🔺▲△𐌀𝞪ⱯꞺᶏꬰልꍏᗣꁲᎯ',
  b: 'ЬьъвВбБßβɓƀƄƅᏴᏏᑲᗷꓐⲃʙᏼ฿乃๒♭🅑🅱ᛒꞗᏰ𐌁Ⴆጌꌃცꃃɮ',
  c: 'сСϲϹᴄɔᏟꓚⲥᑕᑢ₵匚ςƈȼȻ¢©☾🅒🅲Ↄↄ€єЄᚲ🌙☪ᏨꮯꮳⲤⅭⅽᴐꞓ⊂ᑦ૮ርꉓꇃ',
  d: 'ԁԂɗđĐɖᎠᏧᗞᗪᑯꓓᴅδↁ刀๔ժдД∂ðÐ🅓🅳ꭰⲇᛞꝹꝺᵭᶁ◗ᕲ𐌃ᎴዕꀸꂡᏍ',
  e: 'еЕєЄҽεΕɛɘǝэзЗЭᎬꓰⲉᗴᗕᴇ€ɆɇΣξΞ乇∃ე🅔🅴Əᛖℯ℮ᶒⲈꬲ⋿📧𐌄Ꮛቿꍟᘿꏹ',
  f: 'ƒϝꓝᖴꜰ₣千Ŧғ下Ғ🅕🅵ꟻɟᚠꝼꞙᵮɸ𐌅Ꭶቻꎇʄꄙ',
  g: 'ɡɢցԍᏀᏻɠǥǤ₲ᘜꓖﻮ厶գ🅖🅶ᏳᏮꮆᵷᏵኗꁅᚷꁍⳒ',
  h: 'нНһҺɥηΗհᏂᎻᕼꓧⲎⲏʜħĦђћҤⱨⱧ卄ん🅗🅷ℏӉᚺᚻʱꜧⱶɦ♓ᚾԋ𐋅ϩዘꃅƕꀍ',
  i: 'іІıɪιΙӏӀᎥꓲⲓɨƗ丨เاוㅣ¡│∣ǀ🅘🅸𐌉ꭵᏆᎨᛁꭲ❗❕‼ⅰᶖᵻⵏﺍ١۱łጎꀤᓰ',
  j: 'јЈϳɟյᎫᒍꓙᴊɉנ丿ןʝ🅙🅹ᛃ🪝ʲﾌᏠጋꀭᒚႰ',
  k: 'кКκΚƙᏦꓗⲕᛕᴋқҚҜҝ₭ʞᶄ🅚🅺жᚴꝁꝃꞢҡ𐌊ጕꀘᚲᖽꈵᏥ',
  l: 'ӏӀɩιΙɭłŁʟᏞꓡⲗᒪլוןاㅣㄥ丨│∣ǀƖ£Ⱡⱡ🅛🅻⎳ⳑᛚꮮᶅɫꝉⵏ❗❕١۱ⅼʅ𐌋Ꮭረ꒒Ⴑ',
  m: 'мМΜʍɯᎷꓟⲙᗰᴍɱ₥爪๓ო🅜🅼〽♏ᛗⅿᵯɰ𐌌ጠꂵᘻ',
  n: 'ոɴηΝпПиИлЛπΠⲛꓠᑎᘉɲŋƞภ几₦ռᴎ🅝🅽♑ᚾᵰᶇɳꞑⲚղ𐌍ᏁክꈤꋊႶ',
  o: 'оОοΟσօՕⲟꓳᴏøØθѳӨөסهഠ๏๐口૦ʘ¤°○●◯ΦФф⊙☉Ꮎ🅞🅾Ꭷ⭕⚪⚫🔴🔵🟠🟡🟢🟣🟤🌕🌑🌚🌝🍩🥯◎⊚⭘ᴑ۝०০໐୦ⵔ𐓪ଠ⊕⊗ꂦᛟᓍꁏᗝ',
  p: 'рРρΡϱᏢꓑⲣᑭᴘƿþÞ₱קթք卩ƥ🅟🅿ⱣᵽҎᚹᵱꝑꝓ𐌐Ꭾየꉣᛈ℘ᕵ',
  q: 'ԛԚգզᑫϙɋ۹Ɋ🅠🆀φǫ𐌒ϥᎤዒꆰᚲᕴ',
  r: 'гГяЯɹʀᏒᎡꓣᖇⱤɍɾɼᴦⲅ尺ՐɌґ®🅡🆁ɿᚱꝛꞃᵲɺཞ૨𐌓ꞅዪꋪ',
  s: 'ѕЅʂꜱᏚꓢՏտᔕ§ƨƧร丂ֆ🅢🆂ʃᛋ🐍💲ᶊꞅᵴ𐌔ⲋ₴ነꌗꌚᎴᴤ',
  t: 'тТτΤƭʇᎢꓔⲧᴛ₮ŧŦեՇ丅ƬƮ†⊤🅣🆃☨✝ᛏ➕ꞇᵵƫ✚✞☦ɬէƚㄒᏖፕ꓄ᖶꋖᎿ',
  u: 'սᴜυμʊцЦᑌꓴՍɄʉ凵ยµ∪ʋЏ🅤🆄⛎⋃ᶙᵾꭎᑘ🧲մႮㄩ𐌵ⲩᏬሁꀎᚢꌈᏪ',
  v: 'νѵѴᴠᏙꓦᐯשʋυ√∨🅥🆅Ʌʌ♈✌ⅴᏤ⋁🔻▽▼ᶌᕓⲩᏉሀꃴᚹᐺꮙ',
  w: 'ѡшШщЩԝԜωᴡᏔᎳꓪᗯฬ₩山שʍա🅦🆆Ѡ🔱ᏇꙌⲱሠꅏᚹᘺꅐ',
  x: 'хХχΧжЖҳҲ᙭ꓫⲭӾӿ乂א×✕✖❌🅧🆇⨯❎ⅹᚷᶍճ𐋄ጀሸꊼᛉϰꋚ',
  y: 'уУүҮγΥʏʎᎽᎩꓬⲩɎɏ丫ყץ¥Ӌч🅨🆈ꭚỿվㄚ𐌙ሃꌩᛃᖻꂖ',
  z: 'ʐᴢᏃꓜⱫⱬƶƵᘔζΖ乙չʑ🅩🆉ȥՀᶎᵶⲍፚጊꁴᛉᗱ',
}

/** Digits and marks, each with the letters it stands for in leetspeak; each may be an ordinary digit or mark, too. */
const LEET = '0o 1il 2z 3e 4a 5s 6gb 7t 8b 9gq @a $s !il |il +t #h *aeiou'

const codesOf = (text: string) => [...text].map((character) => character.charCodeAt(0))

/** Each letter of one text, with that at its place in the other. */
const paired = (ones: string, others: string) => new Map(codesOf(ones).map((one, i) => [one, others.charCodeAt(i)]))

/** Letters that read as each other once the text is turned upside down, which also reverses it. */
const turned = paired('bqdpmwnu', 'qbpdwmun')

// Cyrillic letters drawn exactly like Latin ones, and Latin ones that many write without their stroke or dot.
const twins = paired('аеорсухкмтвніѕјłđøıς', 'aeopcyxkmtbhisjldoiσ')

const REGIONAL_INDICATOR_A = 0x1f1e6

/** Each character of the alphabets, with the letters it may be. */
const lettersFor = new Map<string, number[]>()
for (const [letter, characters] of [alphabets, confusables].flatMap(Object.entries<string>)) {
  for (const character of characters) {
    const known = lettersFor.get(character)
    if (known) known.push(letter.charCodeAt(0))
    else lettersFor.set(character, [letter.charCodeAt(0)])
  }
}

const leetLetters = new Map(LEET.split(' ').map((entry) => [entry.charCodeAt(0), codesOf(entry.slice(1))] as const))

const TURNED = /[ɐɔǝəɟɓɥıɾʞɯɹʇʌʍʎ]/u

/** The Latin letters a character can be taken for, as code points; empty for most. Either case of it counts. */
export function lookalikesOf(code: number): readonly number[] {
  if (code >= REGIONAL_INDICATOR_A && code < REGIONAL_INDICATOR_A + 26) return [0x61 + code - REGIONAL_INDICATOR_A]
  const character = String.fromCodePoint(code)
  const forms = [character, character.toLowerCase(), character.toUpperCase()]
  return [...new Set(forms.flatMap((form) => lettersFor.get(form) ?? []))]
}

/** A letter as terms keep it: a Cyrillic one as its Latin twin, so that a Russian word is found in either alphabet. */
export const sharedForm = (code: number): number => twins.get(code) ?? code

/** The letters a digit or mark stands for in leetspeak; empty for those that stand for none. */
export const leetOf = (code: number): readonly number[] => leetLetters.get(code) ?? []

/** Whether the text has letters made to be read upside down. */
export const hasTurnedLetters = (text: string): boolean => TURNED.test(text)

/** What a plain letter reads as when the text around it is upside down, or undefined. */
export const turnedOf = (letter: number): number | undefined => turned.get(letter)
