/**
 * Characters that read as a Latin letter by Unicode's own data, each behind its letter, beside those of `lookalikes.ts`:
 * what the confusables of Unicode TR39 map to the letter, marks left out, and Latin letters whose names say that they
 * are this one "with hook", "turned", "open", "small capital" and so on, such as phonetic ones. Without what compatibility
 * forms map already, and without letters of the languages whose words are known.
 *
 * From confusables.txt and UnicodeData.txt, Copyright Unicode, Inc., Unicode License V3 (https://www.unicode.org/license.txt).
 */
export const confusables: Readonly<Record<string, string>> = {
  a: 'ɒʌᶐ𐊠𖽀',
  b: 'ƃѣҍᑳᖯᴃᵬᶀꞵ𐊂𐊡',
  c: 'ɕҫᶗ₡ꜿꞔꬿ𐊢𐌂𐐽𐔜𝼝🅮',
  d: 'ƌȡᶑẟ₫ꓒꟈ',
  e: 'ɚɜɝɞʚҿᴈᶓᶔᶕⱸⱻⴹꬳꬴ𐊆𑢦𑢮',
  f: 'քᶂẜẝꬵ𐊇𐊥𐔥𑣂𝈓',
  g: 'ƍʛᵹᶃꝿꞡꟑꬶ𝼁𝼂',
  h: 'ɧʎʮʯҢӇᏲꚕꞕꟶ𐋏𝼆',
  i: 'ɩᴉᵼꙇ𑣃𝼚',
  j: 'ȷʄᒎ',
  k: 'Ҟⱪꝅ𐔘𝼃𝼐',
  l: 'ƗƚȴɬІᛁᣳᴌ⏽Ⲓꓲꝇꞁꞎꬷꬸꬹ𐊊𐌉𐐛𐔦𑢣𑢲𖼖𖼨𝈪𝼄𝼑𝼓',
  m: 'ϻӍᛖᴟᶆꟺꬺꭑ𐊰𐌑',
  n: 'ȵꞥꬻꬼ𐆎𐔓𝼔',
  o: 'ɔɵɸတဝჿዐᴐᴒᴓᴖᴗᶗⱺⴱⵁㄖꝋꝍꬽꬾꬿꭴꮻ𐊒𐊫𐐬𐔖𑢵𑣈𑣗𝈚𝼛',
  p: 'ᣖᶈ℗ꝕ𐊕',
  q: 'ʠⵕꝗꝙꞯ',
  r: 'ɻғᣴᴙᴚᵳᶉⱹꝵꝶꞧꭅꭆꭇꭈꭉꭋꭌꭨꮁ𐒴𖼵𝈖𝼈𝼕𝼖',
  s: 'ƽȿʆᏕᣵᶋᶘẜẝꞩꟊ𐊖𐑈𑣁𖼺𝼋𝼌𝼞',
  t: 'ȶҬⱦ𐊗𐊱𐌕𑢼𖼊𝼉𝼍',
  u: 'ሀᴝᵿꞟꞹꭒꮜ𐓶𑣘𖽂',
  v: 'ỽⱱⱴⴸꛟꝟ𐆗𐔝𑜆𑣀𖼈𝈍',
  w: 'ɯɰѽⱳꝡꞷꟺ𑓅𑜊𑜎𑜏',
  x: 'ᕁᕽ╳ⵝꭓꭔꭕꭖꭗꭘꭙ𐆖𐊐𐊴𐌗𐔧',
  y: 'ƴɣɤұᶌ𐊲𑢤𑣜𖽃𝼆',
  z: 'ƺɀʒʓᙆᴣᶚ𑢩𑣄𝼘',
}
