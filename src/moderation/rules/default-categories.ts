import type { CategoriesFile } from '../categories-file.js'

/** Terms, parted by commas. */
const listed = (...lines: readonly string[]): string[] => lines.flatMap((line) => line.split(', '))

/**
 * What is refused besides, unless the operator's own file (MODERATION_RULES) says otherwise; in the form of that file.
 * Sexual content with adults and swearing are allowed.
 */
export const defaultCategories: CategoriesFile = {
  categories: [
    {
      name: 'sexual acts with animals',
      terms: listed(
        '*bestiality*, beastiality, *zoophil*, zoosex, animal sex, sex with animals, sex with an animal',
        'sex with a dog, sex with a horse, fucked by a dog, fucked by a horse, dog fucking, horse fucking, zoofilia',
        'зоофил*, 獣姦, 兽交',
      ),
    },
    {
      name: 'sexual acts with the dead',
      terms: listed('*necrophil*, necrofilia, sex with a corpse, fucking a corpse, snuff porn, snuff film, некрофил*'),
    },
    {
      name: 'sexual violence',
      terms: listed('gang rape, gangrape, gang raped, rape porn, raping, being raped, getting raped, forced sex'),
    },
  ].map((category) => ({ ...category, models: 'all', except: [] })),
}
