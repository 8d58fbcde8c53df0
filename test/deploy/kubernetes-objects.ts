/** The objects of deploy/kubernetes, as kustomize builds them, or as far as they can be read without it. */
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse, parseAllDocuments } from 'yaml'
import { findProgram, install } from '../support/programs.js'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const FOLDER = join(ROOT, 'deploy/kubernetes')
export const textOf = (file: string) => readFileSync(join(ROOT, file), 'utf8')

interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string }
  readonly timeoutSeconds: number
}

export interface Container {
  readonly name: string
  image: string
  readonly command?: readonly string[]
  readonly env?: readonly {
    readonly name: string
    readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } }
  }[]
  readonly envFrom?: readonly {
    readonly configMapRef?: { readonly name: string }
    readonly secretRef?: { readonly name: string; readonly optional?: boolean }
  }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number; readonly hostPort?: number }[]
  readonly startupProbe?: Probe
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } }
  readonly resources: { readonly requests: object; readonly limits: object }
  readonly securityContext: object
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
}

interface Pod {
  readonly serviceAccountName: string
  readonly securityContext: object
  readonly terminationGracePeriodSeconds?: number
  readonly initContainers?: readonly Container[]
  readonly containers: readonly Container[]
  readonly volumes: readonly { readonly name: string; readonly emptyDir?: object }[]
}

export type Labels = Readonly<Record<string, string>>

interface Selector {
  readonly matchLabels?: Labels
  readonly matchExpressions?: readonly { readonly key: string; readonly operator: 'In'; readonly values: string[] }[]
}

interface Peer {
  readonly namespaceSelector?: { readonly matchLabels: Labels }
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] }
}

interface NetworkRule {
  readonly from?: readonly Peer[]
  readonly to?: readonly Peer[]
  readonly ports: readonly { readonly port: number; readonly endPort?: number }[]
}

interface Backend {
  readonly service: { readonly name: string; readonly port: { readonly name: string } }
}

/** The members that these tests look at, of whatever kind has them. */
interface Spec {
  readonly replicas?: number
  readonly strategy?: { readonly type?: string; readonly rollingUpdate?: object }
  readonly template?: { readonly metadata: { readonly labels: Labels }; readonly spec: Pod }
  readonly selector?: Selector
  readonly podSelector?: Selector
  readonly scaleTargetRef?: { readonly name: string }
  readonly ports?: readonly { readonly name: string; readonly targetPort: string }[]
  readonly endpoints?: readonly { readonly port: string }[]
  readonly ingress?: readonly NetworkRule[]
  readonly egress?: readonly NetworkRule[]
  readonly rules?: readonly {
    readonly host: string
    readonly http: { readonly paths: readonly { readonly backend: Backend }[] }
  }[]
  readonly tls?: readonly { readonly hosts: readonly string[] }[]
}

export interface KubernetesObject {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Labels
    readonly annotations?: Labels
  }
  readonly spec: Spec
  readonly data?: Labels
}

/**
 * A kubectl whose kustomize knows components. Undefined, after one line, where there is none: Debian 12 has only an older
 * one.
 */
export async function findKubectl(): Promise<string | undefined> {
  if (!findProgram('kubectl')) await install('kubernetes-client')
  const path = findProgram('kubectl')
  const said = path ? execFileSync(path, ['version', '--client', '--output=json'], { encoding: 'utf8' }) : '{}'
  if (/^v[5-9]\./.test(JSON.parse(said).kustomizeVersion ?? '')) return path
  console.log('No kubectl with kustomize 5 is here: what patches change in deploy/kubernetes is not checked.')
  return undefined
}

const documents = (text: string): KubernetesObject[] => parseAllDocuments(text).map((document) => document.toJS())

/** What `kubectl apply -k` would send. */
export const built = (kubectl: string, overlay: string): KubernetesObject[] =>
  documents(execFileSync(kubectl, ['kustomize', join(FOLDER, 'overlays', overlay)], { encoding: 'utf8' }))

/** The same for an overlay whose patches change nothing as long as its placeholders stand. */
export const read = (overlay: string): KubernetesObject[] => readFolder(join(FOLDER, 'overlays', overlay))

interface Kustomization {
  readonly resources?: readonly string[]
  readonly components?: readonly string[]
  readonly images?: readonly { readonly name: string; readonly newName: string; readonly newTag: string }[]
  readonly configMapGenerator?: readonly {
    readonly name: string
    readonly namespace: string
    readonly literals?: readonly string[]
    readonly envs?: readonly string[]
  }[]
}

function readFolder(folder: string): KubernetesObject[] {
  const textIn = (file: string) => readFileSync(join(folder, file), 'utf8')
  const {
    resources = [],
    components = [],
    images = [],
    configMapGenerator = [],
  }: Kustomization = parse(textIn('kustomization.yaml'))
  let objects = [...resources, ...components].flatMap((name) => {
    const path = join(folder, name)
    return statSync(path).isDirectory() ? readFolder(path) : documents(readFileSync(path, 'utf8'))
  })
  for (const { name, namespace, literals = [], envs = [] } of configMapGenerator) {
    const lines = [...literals, ...envs.flatMap((file) => textIn(file).split('\n'))]
    const set = lines.filter((line) => /^[A-Z]/.test(line)).map((line) => /^(\w+)=(.*)$/.exec(line)?.slice(1) ?? [])
    const isSame = ({ kind, metadata }: KubernetesObject) => kind === 'ConfigMap' && metadata.name === name
    const data = { ...objects.find(isSame)?.data, ...Object.fromEntries(set) }
    const map = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace },
      data,
    } as unknown as KubernetesObject
    objects = [...objects.filter((object) => !isSame(object)), map]
  }
  for (const { pod } of podsOf(objects))
    for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
      const image = images.find(({ name }) => name === container.image)
      if (image) container.image = `${image.newName}:${image.newTag}`
    }
  return objects
}

export const ofKind = (objects: readonly KubernetesObject[], kind: string) =>
  objects.filter((object) => object.kind === kind)

/** The pods that the objects make, with the names of those. */
export const podsOf = (objects: readonly KubernetesObject[]) =>
  objects.flatMap(({ metadata, spec }) =>
    spec?.template ? [{ name: metadata.name, labels: spec.template.metadata.labels, pod: spec.template.spec }] : [],
  )

/** Whether a selector takes what has these labels. */
export const isTaken = (labels: Labels, { matchLabels = {}, matchExpressions = [] }: Selector = {}): boolean =>
  Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
  matchExpressions.every(({ key, values }) => values.includes(labels[key] ?? ''))
