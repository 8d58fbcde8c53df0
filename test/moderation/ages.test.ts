import { describe, expect, it } from 'vitest'
import { createMinorsRule } from '../../src/moderation/engine/minors-rule.js'
import { readText } from '../../src/moderation/engine/term-matcher.js'

const THIS_YEAR = new Date().getFullYear()

const rule = createMinorsRule([
  {
    minors: ['zorblax'],
    sexual: ['vimo'],
    nudity: ['kreel'],
    people: ['galdo'],
    adults: ['marn'],
    ages: {
      numbers: ['zero, one, two, three, four, five, nine, twelve'],
      larger: ['twenty, hundred, hundred and'],
      units: ['year old, years old, yo, 歳, th grade'],
      youngUnits: ['months old'],
      dayUnits: ['days old'],
      births: ['born, born in, 生まれ'],
      leads: ['age, aged'],
      hints: ['just, turned'],
      links: ['of, is'],
    },
    ordinary: { minors: ['year old whisky, ice age'] },
  },
])
const agesIn = (text: string) => rule.judge(rule.interpret(readText(`${text}. kreel`)), false)?.slice(0, -1) ?? []

describe('ages', () => {
  it.each([
    ['12 year old', '12 year old'],
    ['12-year-old', '12 year old'],
    ['12 years old', '12 years old'],
    ['12yo', '12 yo'],
    ['12 y.o.', '12 yo'],
    ['12 y/o', '12 yo'],
    ['１２yo', '12 yo'],
    ['⑫ yo', '12 yo'],
    ['١٢ yo', '12 yo'],
    ['۱२ yo', '12 yo'],
    ['12歳の', '12 歳'],
    ['a 5 y e a r o l d', '5 year old'],
    ['five-year-olds', 'five year old'],
    ['aged 9', 'aged 9'],
    ['(age: 9)', 'age 9'],
    ['age nine, age four', 'age four'],
    ['24 months old', '24 months old'],
    ['144 months old', '144 months old'],
    ['twenty-four months old', 'four months old'],
    ['4000 days old', '4000 days old'],
    [`born in ${THIS_YEAR - 9}`, `born ${THIS_YEAR - 9}`],
    [`born on 3 May ${THIS_YEAR - 17}`, `born ${THIS_YEAR - 17}`],
    [`${THIS_YEAR - 3}生まれ`, `生まれ ${THIS_YEAR - 3}`],
    ['8-12 year old', '12 year old'],
    ['12th grade', '12 th grade'],
    ['XII years old', 'xii years old'],
    ['age XVI', 'age xvi'],
    ['turned 12', 'turned 12'],
    ['just twelve', 'just twelve'],
    ['galdo, 12', 'galdo 12'],
    ['12, galdo', 'galdo 12'],
    ['galdo (12)', 'galdo 12'],
    ['galdo of twelve', 'galdo twelve'],
    ['marn is 12', 'marn 12'],
    ['galdo, XIV', 'galdo xiv'],
    ['12 galdo', '12 galdo'],
  ])('takes "%s" for an age under eighteen', (text, shown) => {
    expect(agesIn(text)).toContain(shown)
  })

  it.each([
    '18 year old',
    '25yo',
    '240 months old',
    '7000 days old',
    `born in ${THIS_YEAR - 18}`,
    `born in ${THIS_YEAR + 1}`,
    `born in 1980, galdo of ${THIS_YEAR - 9}`,
    `a photo of ${THIS_YEAR - 1}`,
    '1,012 years old',
    '112 year old',
    'year old',
    'twenty-five year old',
    'a hundred and five years old',
    'aged five hundred',
    'aged 35',
    'ice age 2',
    'aged 12th century paper',
    '12 year old whisky',
    'page 9',
    'galdo, 25',
    '12 galdos',
    'galdo with 12 candles',
    'just 12 candles',
    'galdo f/8',
    'galdo, 16:9',
    'galdo 5\'6"',
    'galdo, score_9',
    'set of 12',
    'King Galdo, 1990s',
  ])('does not take "%s" for one', (text) => {
    expect(agesIn(text)).toEqual([])
  })
})
