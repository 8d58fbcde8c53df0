import type { ModelDefinition } from '../core/catalog/model-definition.js'

const documents = new WeakMap<ModelDefinition, { readonly kind: string }>()

/** A definition's document, parsed once: workflows are long, and definitions are looked at every few seconds. */
export function documentOf(definition: ModelDefinition): { readonly kind: string } {
  const document = documents.get(definition) ?? (JSON.parse(definition.document) as { kind: string })
  documents.set(definition, document)
  return document
}
