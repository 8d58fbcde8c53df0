import type { ComponentChildren } from 'preact'
import type { SignedIn } from '../../../core/accounts/session.js'
import { Layout } from '../../parts/layout.js'

const LINKS = [
  ['/operator', 'Overview'],
  ['/operator/users', 'Users'],
  ['/operator/models', 'Models'],
  ['/operator/plans', 'Plans'],
  ['/operator/figures', 'Figures'],
  ['/operator/moderation', 'Moderation'],
  ['/operator/images', 'Images'],
  ['/operator/reports', 'Reports'],
  ['/operator/mails', 'Mails'],
  ['/operator/log', 'Log'],
  ['/operator/api', 'API'],
] as const

interface OperatorPageProps {
  /** Of the tab, and the page's heading. */
  readonly title: string
  readonly signedIn: SignedIn
  /** The page's address, to mark its link. */
  readonly path: string
  /** Beside the heading. */
  readonly aside?: ComponentChildren
  /** Besides that of the console. */
  readonly style?: string
  readonly script?: string
  /** It refreshes itself. */
  readonly live?: boolean
  readonly children: ComponentChildren
}

/** A page of the operator's console, with the links to the others. */
export const OperatorLayout = ({
  title,
  signedIn,
  path,
  aside,
  style,
  script,
  live = false,
  children,
}: OperatorPageProps) => (
  <Layout
    title={title}
    signedIn={signedIn}
    path={path}
    class="operator"
    style={style ? ['operator.css', style] : 'operator.css'}
    script={script}
    live={live}
  >
    <nav class="tabs" aria-label="Operator">
      {LINKS.map(([href, name]) => (
        <a href={href} aria-current={isWithin(path, href) ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
    <div class="row apart">
      <h1>{title}</h1>
      {aside}
    </div>
    {children}
  </Layout>
)

const isWithin = (path: string, href: string) => path === href || (href !== '/operator' && path.startsWith(`${href}/`))
