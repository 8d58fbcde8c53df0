import { isDefinition } from '../core/catalog/model-definition.js'
import { importModels } from '../core/operator/catalog.js'
import type { WorkflowModels } from '../core/operator/workflow-models.js'
import type { Database } from '../db/client.js'
import { prepareImport } from './import-models.js'
import { modelOfEntry, refusalOf, toEntry } from './model-entry.js'
import { boundWorkflow, workflowReport } from './workflow-report.js'

/** What an entry needs beside its workflow. */
const ANY_VERSION = {
  ...{ id: 1, name: 'v1', model_name: 'Workflow', base_model: 'Other', type: 'Workflow', workflow_file: 'of the form' },
} as const

/** Workflows as `easel workflow check` reads and `easel models import` stores them. */
export const workflowModels = (db: Database): WorkflowModels => ({
  async check({ source, allowNodes, scale }) {
    const report = workflowReport(boundWorkflow(source, allowNodes))
    const refused = await refusalOf({ ...ANY_VERSION, allow_nodes: allowNodes, scale }, source)
    const section = { title: 'An import refuses it', lines: refused === undefined ? [] : [refused] }
    return refused === undefined ? report : { ...report, sections: [section, ...report.sections] }
  },

  async import({ source, existing, allowNodes, isMeant, ...version }, acting) {
    const kept = existing && toEntry(existing)
    const entry = {
      ...{ id: version.id, name: version.name, model_name: version.modelName, base_model: version.baseModel },
      ...{ nsfw: version.nsfw, credits_per_image: version.creditsPerImage, scale: version.scale },
      ...{ type: existing?.type ?? 'Workflow', allow_nodes: allowNodes, workflow_file: 'of the form' },
      // An import replaces all parameters.
      ...(kept?.limits && { limits: kept.limits }),
      ...(existing && isDefinition(existing.filename) && { filename: existing.filename }),
    }
    const model = await modelOfEntry(entry, async () => source)
    const prepared = await prepareImport(db, [model], !existing)
    const { unserved } = prepared
    if (unserved.length > 0 && !isMeant) return { outcome: 'unserved', versions: unserved }
    return { outcome: 'imported', versions: await importModels(acting, prepared, async () => undefined) }
  },
})
