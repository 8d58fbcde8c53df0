/** An act in words, in which what it names leads to its page. */
import type { ComponentChildren } from 'preact'
import { isAboutAccount } from '../../../core/operator/acts-about-accounts.js'
import type { RecordedAct } from '../../../core/operator/operator-actions.js'
import { address } from '../../parts/text.js'
import { userPath } from '../parts/operator-parts.js'

/** By the words of an act, where its target leads. The first that fits; what none fits is no link, unless it is about an account. */
const PLACES: readonly (readonly [acts: RegExp, place: (target: string) => string])[] = [
  [/^(canceled generation|asked to run it again|ran again as )/, (id) => `/operator/generations/${id}`],
  [/^(removed image|dismissed \d+ reports? of an image)$/, (slug) => `/operator/images/${slug}`],
  [/^(enabled|disabled|set the price to \d+ of) model version$/, (id) => `/operator/models/${id}`],
  [/^(imported 1 model version|(paused|resumed) .*\bmodel\b)/, () => '/operator/models'],
  [/^(paused|resumed) .*\bbackend\b/, () => '/operator#backends'],
  [/^(saved|retired) plan$/, (name) => `${address('/operator/plans', { plan: name })}#plan`],
  [/^(dismissed payment|asked for payments again)$/, () => '/operator/payments'],
]

/** IDs within the words: of a key, of a generation, and of a refused prompt. */
const NAMED = /\b(gen_[0-9a-z]{26}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b|\b(refused prompt (\d+))/

export const ActText = ({ action, target }: Pick<RecordedAct, 'action' | 'target'>) => {
  const place =
    target && (isAboutAccount(action) ? userPath : PLACES.find(([acts]) => acts.test(action))?.[1])?.(target)
  return (
    <>
      {withLinks(action, target)}
      {target && (
        <div>
          {place ? (
            <a href={place}>
              <bdi class="mono">{target}</bdi>
            </a>
          ) : (
            <bdi class="mono">{target}</bdi>
          )}
        </div>
      )}
    </>
  )
}

/** @param target whose key or prompt it is */
function withLinks(action: string, target: string): ComponentChildren {
  const found = NAMED.exec(action)
  if (!found) return action
  const [words, id, , refusal] = found
  const place = refusal
    ? `${address('/operator/moderation', { user: target })}#refusal-${refusal}`
    : id?.startsWith('gen_')
      ? `/operator/generations/${id}`
      : `${userPath(target)}#key-${id}`
  return (
    <>
      {action.slice(0, found.index)}
      <a href={place}>{words}</a>
      {action.slice(found.index + words.length)}
    </>
  )
}
