/**
 * Which classes of nodes only draw: they read the models that the server lists, no other files and no addresses, and
 * run no code that a workflow brings. docs/contributing.md says how the lists are renewed.
 */
import core from './core-nodes.json' with { type: 'json' }
import reviewed from './reviewed-nodes.json' with { type: 'json' }

const READ_TAGS = new Set(reviewed.flatMap(({ readsTags = [] }) => readsTags))
const ONLY_DRAW = new Set([...core.classes, ...reviewed.flatMap(({ classes }) => classes), ...READ_TAGS])

/** Whether Easel knows that nodes of that class only draw; every other class may do anything. Some had a blank at the end. */
export const onlyDraws = (name: string): boolean => ONLY_DRAW.has(name.trim())

/** Whether nodes of that class may take parts of a text for orders, such as `<lora:name:1>` or a wildcard's `__file__`. */
export const mayReadTags = (name: string): boolean => READ_TAGS.has(name) || !ONLY_DRAW.has(name)
