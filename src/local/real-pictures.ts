/** Where nothing but the preview draws: how to attach a GPU server. */
export function howToGetRealPictures(inferenceUrls: readonly string[], command: string): string | undefined {
  if (!inferenceUrls.every(isPreview)) return undefined
  return `Pictures here are stand-ins, drawn without a GPU. For real ones: INFERENCE_URL=a1111+http://host:7860 ${command}`
}

/** Where generations will wait: what is missing. */
export function whyNothingIsDrawn(inferenceUrls: readonly string[], served: boolean): string | undefined {
  if (served) return undefined
  // Hosts only: there may be passwords in the URLs.
  const hosts = inferenceUrls
    .filter((url) => !isPreview(url))
    .map((url) => new URL(url.slice(url.indexOf('+') + 1)).host)
  return `No GPU server with a model of the catalog answers (${hosts.join(', ')}): generations wait in the queue until one does.`
}

const isPreview = (url: string) => url.startsWith('preview:')
