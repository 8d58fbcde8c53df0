import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { DEFAULT_SITE, type SiteText, textIn } from '../../core/site.js'
import { useTexts } from '../texts/texts.js'

/** The installation's own name, look and links. `sendPage` and `sendFragment` provide it to all that they render. */
export const SiteContext = createContext(DEFAULT_SITE)

export const useSite = () => useContext(SiteContext)

/** Picks what the reader reads of a text that the installation wrote. */
export const useSiteText = (): ((text: SiteText) => string) => {
  const { language } = useTexts()
  return (text) => textIn(text, language)
}

export const SiteName = () => <bdi>{useSite().name}</bdi>
