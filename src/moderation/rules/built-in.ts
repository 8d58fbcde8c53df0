import type { Rule } from '../rules-moderator.js'
import type { TermList } from '../term-matcher.js'
import { adulthood } from './adulthood.js'
import { minors } from './minors.js'
import { sexual } from './sexual.js'
import { writtenList } from './written-list.js'

const category = 'sexual content with minors'

/** Words that mean both at once. */
const sexualisedMinors: TermList = {
  terms: writtenList(`
    *lolicon*, *shotacon*, *toddlercon*, pedo, pedos, *pedophil*, *paedophil*, pedofil*, hebephil*, ephebophil*, csam
    pthc
    child porn*, kiddie porn, kiddy porn, cub porn, jailbait, kinderporn*, pedoporn*, педофил*, ロリコン, ショタコン
    ペドフィリア, 児童ポルノ, 炼铜, 恋童, 戀童, 儿童色情, 兒童色情, 로리콘
  `),
}

/** The rules on minors. They always hold: no setting and no file takes them away. */
export const rulesOnMinors: readonly Rule[] = [
  { category, models: 'all', terms: minors, beside: sexual, avoided: adulthood },
  { category, models: 'all', terms: sexualisedMinors },
]

/** Words that may stand between terms written together without making the whole an ordinary word. */
export const fillers: readonly string[] = writtenList(`
  girl, boy, girls, boys, little, young, cute, tiny, hot, and, with, pic, pics, picture, pictures, photo, photos
  image, images, video, art, xxx
`)
