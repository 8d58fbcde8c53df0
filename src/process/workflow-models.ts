import { isDefinition } from '../core/catalog/model-definition.js'
import type { WorkflowModels } from '../core/operator/workflow-models.js'
import type { Database } from '../db/client.js'
import { operatorModelStore } from '../db/operator/catalog.js'
import { recorded } from '../db/operator/operator-actions.js'
import { modelOfEntry, toEntry } from './model-entry.js'
import { boundWorkflow, workflowReport } from './workflow-report.js'

/** Workflows as `easel workflow check` reads and `easel models import` stores them. */
export const workflowModels = (db: Database): WorkflowModels => ({
  check: ({ source, allowNodes }) => workflowReport(boundWorkflow(source, allowNodes)),

  async import({ source, existing, allowNodes, ...version }, by) {
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
    return recorded(
      db,
      async (on) => {
        const imported = await operatorModelStore(on).import([model], !existing)
        // It names no Create Image model that another version could have.
        if (imported.outcome === 'taken') throw new Error(`${imported.by} has ${imported.createImageModel}`)
        return `${imported.filenames[0]}`
      },
      (filename) => ({ ...by, action: `imported ${filename} for model version`, target: `${version.id}` }),
    )
  },
})
