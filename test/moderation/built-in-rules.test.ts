import { describe, expect, it } from 'vitest'
import { createModerator } from '../../src/moderation/create-moderator.js'
import { disguises } from './disguises.js'

const moderator = createModerator({})
const review = (prompt: string, negativePrompt = '', nsfwModel = true) =>
  moderator.review({ prompt, negativePrompt, nsfwModel })
const flags = async (prompt: string, negativePrompt = '') => (await review(prompt, negativePrompt)).flagged

describe('the rules on minors', () => {
  it('name the category and the words that matched', async () => {
    expect(await review('a nude, a CH1LD')).toEqual({
      flagged: true,
      parameter: 'prompt',
      category: 'sexual content with minors',
      matched: ['child', 'nude'],
      secret: true,
    })
  })

  it.each(['child', 'kids', 'toddler', 'baby', 'teen', 'preteen', 'school girl', 'little boy', '12yo'])(
    'refuse "%s" beside a sexual word, on every model, and not alone',
    async (word) => {
      for (const nsfwModel of [true, false]) {
        expect((await review(`${word}, nsfw`, '', nsfwModel)).flagged).toBe(true)
        expect((await review(`${word}, kite`, '', nsfwModel)).flagged).toBe(false)
      }
    },
  )

  it.each(['nude', 'naked', 'nsfw', 'sexy', 'porn', 'hentai', 'topless', 'lewd', 'erotic', 'lingerie', 's.e.x'])(
    'refuse "%s" beside a word for a minor, in either order, and not alone',
    async (word) => {
      expect(await flags(`${word}, child`)).toBe(true)
      expect(await flags(`child, ${'a lighthouse at dusk, '.repeat(80)}${word}`)).toBe(true)
      expect(await flags(`${word}, woman`)).toBe(false)
    },
  )

  it.each(Object.entries(disguises))('refuse the pair in disguise: %s', async (_name, disguise) => {
    expect(await flags(`${disguise('child')}, nude`)).toBe(true)
  })

  it.each([
    'niña desnuda',
    'enfant nu',
    'kinder nackt',
    'criança nua',
    'bambina nuda',
    'дети голые',
    '子供 裸',
    'ロリ 全裸',
    '萝莉 裸体',
    '소녀 알몸',
  ])('know "%s"', async (pair) => {
    expect(await flags(pair)).toBe(true)
  })

  const SHORT_AGES = ['f13', 'm14', '15f', '13y', 'between 12 and 14', 'from 11 to 13 years', '17 and a half', '17 1/2']
  const SCHOOL_YEARS = [
    'K-8',
    'K-12 pupil',
    'form 2',
    'year 9',
    'sixth form',
    '6th former',
    'P5 pupil',
    'sec 1 girl',
    'grade 7',
    'in grade 7 uniform',
  ]
  it.each([...SHORT_AGES, '15.5 years', "i'm 14", 'appears 14', 'under-14s', ...SCHOOL_YEARS])(
    'know "%s" for a minor',
    async (short) => {
      expect(await flags(`a nude woman, ${short}, oil painting`)).toBe(true)
    },
  )

  const THINGS = [
    'apollo 13',
    'u16 thread',
    'grade 9 pigments',
    'form 2 of 3',
    'Formlabs form 3',
    'Chanel No 5',
    'f/16',
    'f11',
  ]
  const COUNTS = [
    '7 of 9',
    'seven of nine',
    '3 women',
    '12 models',
    '17 and a half feet',
    '5 and a half heads tall',
    '10 m',
  ]
  const TIMES = [
    "12 o'clock",
    '7 am',
    '10 years ago',
    '5 years later',
    '12 years a slave',
    'wine aged 12 years',
    'year 1984',
  ]
  it.each([...THINGS, ...COUNTS, ...TIMES, 'between 12 and 14 centimetres', 'from 9 to 5', 'K-5'])(
    'do not take "%s" for one',
    async (other) => {
      expect(await flags(`a nude woman, ${other}, oil painting`)).toBe(false)
    },
  )

  it.each(['port 12 year old girl', 'rum, 13 years old', 'girl with wine, aged 13', 'girl aged 12 of Apollo, 13'])(
    'know "%s" for a minor, whatever thing is beside the age',
    async (hidden) => {
      expect(await flags(`a nude, ${hidden}, oil painting`)).toBe(true)
    },
  )

  it.each(['girl 14 on a bed', 'girl 15 sitting', 'boy 13 with a friend', 'girl 12 in bed', 'girl 11 naked'])(
    'know "%s" for a minor by what stands behind the age',
    async (hidden) => {
      expect(await flags(`nude ${hidden}`)).toBe(true)
    },
  )

  it.each(['girl statue 12 in tall', 'woman with 12 roses', 'girl 12 o clock light', 'woman on 5 chairs'])(
    'do not take the number of "%s" for an age',
    async (other) => {
      expect(await flags(`nude ${other}`)).toBe(false)
    },
  )

  it.each(['nudechild', 'lolicon', 'shotacon', 'kinderporno', 'ロリコン'])('know the compound "%s"', async (word) => {
    expect(await flags(word)).toBe(true)
  })

  it.each(['9 year old', 'nine-year-old', '9 y.o.', 'aged 9', 'age: 9', '9歳', '9 años', '9 лет'])(
    'take "%s" for a minor',
    async (age) => {
      expect(await flags(`${age}, nude`)).toBe(true)
    },
  )

  it.each(['19 year old', 'twenty-nine-year-old', 'aged 39', '900 years old', '29 лет', 'age: 30'])(
    'take "%s" for an adult',
    async (age) => {
      expect(await flags(`${age}, nude`)).toBe(false)
    },
  )

  it.each([
    'girl',
    'boy',
    'young woman',
    'Nina',
    'kid gloves',
    'baby blue',
    'goat kid',
    'adult child of a king',
    'a ten',
  ])('leave "%s" alone beside a sexual word', async (words) => {
    expect(await flags(`nude, ${words}`)).toBe(false)
  })

  it.each([
    'naked eye',
    'naked mole rat',
    'bare feet',
    'strip mall',
    'sperm whale',
    'Scunthorpe',
    'a grape',
    'therapist',
    'an AI',
    "his friend's ex",
  ])('leave "%s" alone beside a child', async (words) => {
    expect(await flags(`a child, ${words}`)).toBe(false)
  })
})

describe('the negative prompt', () => {
  it('is free to name what to avoid', async () => {
    expect(await flags('nude woman', 'child, loli, teen')).toBe(false)
    expect(await flags('a child flying a kite', 'nsfw, nude, adult content')).toBe(false)
    expect(await flags('a lighthouse', 'child, nude, porn')).toBe(false)
  })

  it.each(['adult', 'mature', 'grown-up', '(adu(lt:1.4))', 'old, m4ture', '大人'])(
    'may not take adulthood away from a sexual prompt: %s',
    async (avoided) => {
      expect(await review('nude girl', avoided)).toMatchObject({ flagged: true, parameter: 'negative_prompt' })
      expect(await flags('a girl with a kite', avoided)).toBe(false)
    },
  )
})

describe('the default categories', () => {
  it.each(['bestiality', 'necrophilia', 'rape porn'])('refuse "%s"', async (word) => {
    expect(await flags(word)).toBe(true)
  })

  it.each(['nsfw, nude woman, sex, explicit', 'what the fuck', 'bondage, whip, adult'])(
    'allow "%s"',
    async (prompt) => {
      expect(await flags(prompt)).toBe(false)
    },
  )
})
