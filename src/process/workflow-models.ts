import { isDefinition } from '../core/catalog/model-definition.js'
import { importModels } from '../core/operator/catalog.js'
import type { WorkflowModels } from '../core/operator/workflow-models.js'
import type { Database } from '../db/client.js'
import { prepareImport } from './import-models.js'
import { modelOfEntry, toEntry } from './model-entry.js'
import { boundWorkflow, workflowReport } from './workflow-report.js'

/** Workflows as `easel workflow check` reads and `easel models import` stores them. */
export const workflowModels = (db: Database): WorkflowModels => ({
  check: ({ source, allowNodes }) => workflowReport(boundWorkflow(source, allowNodes)),

  async import({ source, existing, allowNodes, isMeant, ...version }, acting) {
    const kept = existing && toEntry(existing)
    const entry = {
      ...{ id: version.id, name: version.name, model_name: version.modelName, base_model: version.baseModel },
      ...{ nsfw: version.nsfw, credits_per_image: version.creditsPerImage, scale: version.scale },
      ...{ type: existing?.type ?? 'Workflow', allow_nodes: allowNodes, workflow_file: 'of the form' },
      // An import replaces all parameters, and a workflow has no limits of its own.
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
