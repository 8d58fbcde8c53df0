import { FOOTER_LINKS } from '../../core/site.js'
import { useTexts } from '../texts/texts.js'
import { useSite, useSiteText } from './site-context.js'

/** The installation's links, on every page. Without any there is no footer. */
export const SiteFooter = () => {
  const { links, moreLinks } = useSite()
  const { footer } = useTexts().parts
  const readText = useSiteText()
  const named = FOOTER_LINKS.flatMap((name) => (links[name] ? [{ label: footer[name], href: links[name] }] : []))
  const all = [...named, ...moreLinks]
  if (all.length === 0) return null
  return (
    <footer class="site">
      <nav aria-label={footer.label}>
        {all.map(({ label, href }) => (
          <a href={readText(href)}>
            <bdi>{readText(label)}</bdi>
          </a>
        ))}
      </nav>
    </footer>
  )
}

/** Where to get a plan, if it is not sold here and the installation says it. */
export const PlanLink = ({ button = false }: { button?: boolean }) => {
  const { planHref } = useSite()
  const { getPlan } = useTexts().parts
  const readText = useSiteText()
  return planHref ? (
    <a class={button ? 'button' : undefined} href={readText(planHref)}>
      {getPlan}
    </a>
  ) : null
}
