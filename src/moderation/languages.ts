import type { Language } from './language.js'
import ar from './languages/ar.json' with { type: 'json' }
import cs from './languages/cs.json' with { type: 'json' }
import da from './languages/da.json' with { type: 'json' }
import de from './languages/de.json' with { type: 'json' }
import el from './languages/el.json' with { type: 'json' }
import en from './languages/en.json' with { type: 'json' }
import es from './languages/es.json' with { type: 'json' }
import fi from './languages/fi.json' with { type: 'json' }
import fr from './languages/fr.json' with { type: 'json' }
import hi from './languages/hi.json' with { type: 'json' }
import hu from './languages/hu.json' with { type: 'json' }
import id from './languages/id.json' with { type: 'json' }
import it from './languages/it.json' with { type: 'json' }
import ja from './languages/ja.json' with { type: 'json' }
import ko from './languages/ko.json' with { type: 'json' }
import nl from './languages/nl.json' with { type: 'json' }
import pl from './languages/pl.json' with { type: 'json' }
import pt from './languages/pt.json' with { type: 'json' }
import ru from './languages/ru.json' with { type: 'json' }
import sv from './languages/sv.json' with { type: 'json' }
import th from './languages/th.json' with { type: 'json' }
import tr from './languages/tr.json' with { type: 'json' }
import vi from './languages/vi.json' with { type: 'json' }
import zh from './languages/zh.json' with { type: 'json' }

/** The languages whose words are known. Imported one by one, so that the compiler checks each and copies it to dist/. */
export const languages: readonly Language[] =
  // biome-ignore format: one list
  [ar, cs, da, de, el, en, es, fi, fr, hi, hu, id, it, ja, ko, nl, pl, pt, ru, sv, th, tr, vi, zh]
