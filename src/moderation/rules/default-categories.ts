import type { CategoriesFile } from '../categories-file.js'

/**
 * What is refused besides, unless the operator's own file (MODERATION_RULES) says otherwise; in the form of that file.
 * Sexual content with adults and swearing are allowed.
 */
export const defaultCategories: CategoriesFile = {
  categories: [
    {
      name: 'sexual acts with animals',
      models: 'all',
      terms: [
        '*bestiality*',
        'beastiality',
        '*zoophil*',
        'zoosex',
        'animal sex',
        'sex with animals',
        'sex with an animal',
        'sex with a dog',
        'sex with a horse',
        'fucked by a dog',
        'fucked by a horse',
        'dog fucking',
        'horse fucking',
        'zoofilia',
        'зоофил*',
        '獣姦',
        '兽交',
      ],
      except: [],
    },
    {
      name: 'sexual acts with the dead',
      models: 'all',
      terms: [
        '*necrophil*',
        'necrofilia',
        'sex with a corpse',
        'fucking a corpse',
        'snuff porn',
        'snuff film',
        'некрофил*',
      ],
      except: [],
    },
    {
      name: 'sexual violence',
      models: 'all',
      terms: [
        'gang rape',
        'gangrape',
        'gang raped',
        'rape porn',
        'raping',
        'being raped',
        'getting raped',
        'forced sex',
      ],
      except: [],
    },
  ],
}
