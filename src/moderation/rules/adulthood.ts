import type { TermList } from '../term-matcher.js'
import { writtenList } from './written-list.js'

/** Words that say someone is grown up. To ask for none of it, in a negative prompt, is to ask for a minor. */
export const adulthood: TermList = {
  terms: writtenList(`
    adult, adulthood, mature, grown up, grownup, grown ups, grown woman, grown man, fully grown, of legal age, legal age
    over 18, above 18, 18 plus, 18 year old, 18 years old, eighteen year old, eighteen years old
    adulto, adulta, madura, maduro, mayor de edad, maior de idade, adulte, majeure, erwachsen*, volljährig*, adulti
    adulte
    maggiorenne, взрослая, взрослый, взрослые, взросл*, совершеннолетн*, volwassen, dorosła, dorosły
    成人, 大人, 熟女, 成年, 어른, 성인
  `),
  ordinary: writtenList(`
    adult content, adult theme, adult themes, adult film, adult video, adult website, adult toy, adult swim, adult only
    adults only, mature content, mature themes, mature audience, mature rating, mature rated, mature only, 未成年, 未成人
  `),
}
