/** What deploy/kubernetes promises, read without a cluster. */
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { parseConfig } from '../../src/process/config.js'
import { openMetrics } from '../../src/telemetry/metrics/open-metrics.js'
import { MAX_COVER_MB } from '../../src/web/operator/models/cover-forms.js'
import { findPrometheus } from '../support/programs.js'
import { promtool } from '../telemetry/metrics/prometheus.js'
import {
  built,
  type Container,
  FOLDER,
  findKubectl,
  isTaken,
  type KubernetesObject,
  type Labels,
  ofKind,
  podsOf,
  ROOT,
  read,
  textOf,
} from './kubernetes-objects.js'

const kubectl = await findKubectl()
const prometheus = await findPrometheus()

/** The others have patches, which only kustomize applies. */
const READABLE = ['small', 'gpu-hosts']
const overlays = (kubectl ? [...READABLE, 'production'] : READABLE).map((name) => {
  return [name, kubectl ? built(kubectl, name) : read(name)] as const
})

/** The number behind a text in our source. */
const sourceNumber = (file: string, before: string): number => {
  const [, number] = new RegExp(`${before}([\\d_]+)`).exec(textOf(file)) ?? []
  return Number(number?.replaceAll('_', ''))
}

const SECRETS = ['easel', 'easel-server', 'easel-worker', 'easel-migrate']
/** The keys of each secret that operators make. */
const secretKeys = (secret: string) =>
  textOf(`deploy/kubernetes/secrets/${secret}.env.example`)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.replace(/=$/, ''))

const WORTHY: Readonly<Record<string, string>> = {
  DATABASE_URL: 'postgres://easel_app:secret@postgres/easel',
  APP_DATABASE_URL: 'postgres://easel_app:secret@postgres/easel',
  REDIS_URL: 'redis://redis:6379',
}

/** What a container gets as its environment; a secret's values are plausible ones. */
function environmentOf({ env = [], envFrom = [] }: Container, objects: readonly KubernetesObject[]) {
  const maps = envFrom.flatMap(({ configMapRef }) => {
    const found = ofKind(objects, 'ConfigMap').find(({ metadata }) => metadata.name === configMapRef?.name)
    return Object.entries(found?.data ?? {})
  })
  const whole = envFrom.flatMap(({ secretRef }) => (secretRef && !secretRef.optional ? secretKeys(secretRef.name) : []))
  const single = env.flatMap(({ name, valueFrom }) => (valueFrom ? [name] : []))
  const secret = [...whole, ...single].map((name) => [name, WORTHY[name] ?? 'secret'] as const)
  return Object.fromEntries([...maps, ...secret])
}

const containersOf = (objects: readonly KubernetesObject[]) =>
  podsOf(objects).flatMap(({ pod }) => [...(pod.initContainers ?? []), ...pod.containers])

describe.each(overlays)('the overlay %s', (_overlay, objects) => {
  const pods = podsOf(objects)
  const labelsOf = (component: string) => ({
    'app.kubernetes.io/name': 'easel',
    'app.kubernetes.io/component': component,
  })
  const podOf = (component: string) => {
    const found = pods.find(({ labels }) => labels['app.kubernetes.io/component'] === component)
    if (!found) throw new Error(`No pod is a ${component}.`)
    const container = found.pod.containers[0] as Container
    return { ...found, container, config: () => parseConfig(environmentOf(container, objects)) }
  }
  const services = ofKind(objects, 'Service')
  const ingress = ofKind(objects, 'Ingress')[0] as KubernetesObject

  it('has servers, workers and the migrations, in one namespace that refuses other than restricted pods', () => {
    expect(pods.map(({ name }) => name).sort()).toEqual(['easel-migrate', 'easel-server', 'easel-worker'])
    const [namespace] = ofKind(objects, 'Namespace')
    expect(namespace?.metadata.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' })
    for (const { kind, metadata } of objects)
      if (kind !== 'Namespace') expect([kind, metadata.name, metadata.namespace]).toContain(namespace?.metadata.name)
  })

  it.each(pods)('lets $name be a restricted pod without a token', ({ pod }) => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
    })
    // Not as which user, nor with which group for volumes: OpenShift refuses what it has not chosen itself.
    expect(pod.securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    for (const taken of ['hostNetwork', 'hostPID', 'hostIPC']) expect(pod).not.toHaveProperty(taken)
    for (const { name: _, ...volume } of pod.volumes)
      expect(Object.keys(volume)[0]).toMatch(/^(emptyDir|configMap|secret|persistentVolumeClaim)$/)
    for (const volume of pod.volumes) if (volume.emptyDir) expect(volume.emptyDir).toHaveProperty('sizeLimit')
    for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
      expect(container.securityContext).toEqual({
        ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
      })
      expect(container.resources.requests).toMatchObject({ cpu: expect.anything(), memory: expect.anything() })
      expect(container.resources.limits).toHaveProperty('memory')
      expect(container.resources.limits).not.toHaveProperty('cpu')
      const mounts = container.volumeMounts?.map(({ name }) => name) ?? []
      for (const mount of mounts) expect(pod.volumes.map(({ name }) => name)).toContain(mount)
      for (const { hostPort } of container.ports ?? []) expect(hostPort).toBeUndefined()
    }
    expect(pod.containers[0]?.volumeMounts).toContainEqual({ name: 'tmp', mountPath: '/tmp' })
  })

  it('runs this release of Easel, and what else there is by a tag that says which', () => {
    const { version } = JSON.parse(textOf('package.json'))
    expect(textOf('docs/kubernetes.md').match(/\/easel:\S+/g)).toEqual(Array(2).fill(`/easel:${version}`))
    const images = containersOf(objects).map(({ image }) => image)
    expect(images.filter((image) => /\/easel:/.test(image)).length).toBeGreaterThanOrEqual(3)
    for (const image of images) {
      expect(image).toMatch(/:\d[\w.-]*$|@sha256:[0-9a-f]{64}$/)
      if (/\/easel:/.test(image)) expect(image.split(':').at(-1)).toBe(version)
    }
  })

  it('sets variables that Easel has, to values that it takes', () => {
    const names = [...textOf('src/process/config.ts').matchAll(/^ {2}([A-Z][A-Z0-9_]+): /gm)].map(([, name]) => name)
    expect(names.length).toBeGreaterThan(50)
    const named = [
      ...SECRETS.flatMap(secretKeys),
      ...ofKind(objects, 'ConfigMap').flatMap(({ data = {} }) => Object.keys(data)),
      ...pods.flatMap(({ pod }) => pod.containers.flatMap(({ env = [] }) => env.map(({ name }) => name))),
    ]
    expect(textOf('src/process/command-name.ts')).toContain('EASEL_COMMAND')
    for (const name of named) if (name !== 'EASEL_COMMAND') expect(names).toContain(name)
    for (const component of ['server', 'worker']) {
      const config = podOf(component).config()
      expect(config.storage.kind).toBe('s3')
      expect(config.metricsPort).toBe(9464)
      expect(config.redisUrl).toBeDefined()
    }
    expect(podOf('server').config().trustedProxies).not.toBe(false)
    expect(podOf('worker').config().inferenceUrls).not.toContain('preview:')
    expect(podOf('migrate').config().appDatabaseUrl).toBeDefined()
  })

  it('gives the tables’ owner to the migrations alone, and workers nothing of mail, sign-in and payment', () => {
    const secretsOf = (component: string) => {
      const { env = [], envFrom = [] } = podOf(component).container
      const whole = envFrom.flatMap(({ secretRef }) => secretRef?.name ?? [])
      const single = env.flatMap(({ name, valueFrom }) => `${name}=${valueFrom?.secretKeyRef.name}`)
      return [...whole, ...single]
    }
    expect(secretsOf('server')).toEqual(['easel', 'easel-server'])
    expect(secretsOf('worker')).toEqual(['easel', 'easel-worker'])
    expect(secretsOf('migrate')).toEqual(['DATABASE_URL=easel-migrate', 'APP_DATABASE_URL=easel'])
    expect(ofKind(objects, 'Secret')).toEqual([])
  })

  it('starts the programs of the image', () => {
    expect(podOf('server').container.command).toBeUndefined()
    expect(textOf('Dockerfile')).toMatch(/^CMD \["node", "dist\/server.js"\]$/m)
    expect(podOf('worker').container.command).toEqual(['node', 'dist/worker.js'])
    expect(podOf('migrate').container.command).toEqual(['easel', 'migrate'])
  })

  it.each(['server', 'worker'])('probes a %s where it answers, and takes it for dead by /health alone', (component) => {
    const { container, config } = podOf(component)
    const { port, metricsPort } = config()
    const numbers = Object.fromEntries(container.ports?.map(({ name, containerPort }) => [name, containerPort]) ?? [])
    expect(numbers).toEqual(component === 'server' ? { http: port, metrics: metricsPort } : { metrics: metricsPort })
    const where = component === 'server' ? 'http' : 'metrics'
    expect(container.startupProbe?.httpGet).toEqual({ path: '/health', port: where })
    expect(container.livenessProbe?.httpGet).toEqual({ path: '/health', port: where })
    expect(container.readinessProbe?.httpGet).toEqual({ path: '/ready', port: where })
    // A check of /ready may take 2 s.
    expect(container.readinessProbe?.timeoutSeconds).toBeGreaterThan(2)
  })

  it.each(['server', 'worker'])('lets a %s end by itself', (component) => {
    const endsWithinMs = sourceNumber(`src/${component}.ts`, `runProcess\\('${component}', `)
    expect(endsWithinMs).toBeGreaterThan(25_000)
    const { pod, container } = podOf(component)
    const [, seconds = 0] = container.lifecycle?.preStop.exec.command ?? []
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(Number(seconds) + endsWithinMs / 1000)
  })

  it('replaces servers without one less, and drives no GPU server by two workers', () => {
    const deployment = (name: string) => ofKind(objects, 'Deployment').find(({ metadata }) => metadata.name === name)
    expect(deployment('easel-server')?.spec.strategy?.rollingUpdate).toMatchObject({ maxUnavailable: 0 })
    const own = environmentOf(podOf('worker').container, objects).INFERENCE_URL === 'comfyui+http://127.0.0.1:8188'
    expect(deployment('easel-worker')?.spec.strategy?.type).toBe(own ? 'RollingUpdate' : 'Recreate')
    expect(ofKind(objects, 'ScaledObject')).toHaveLength(own ? 1 : 0)
    expect(podOf('worker').pod.initContainers?.map(({ name }) => name)).toEqual(
      own ? ['comfyui', 'cleaner'] : undefined,
    )
    // A count here would undo at each apply what was scaled.
    for (const { spec } of ofKind(objects, 'Deployment')) expect(spec.replicas).toBeUndefined()
  })

  it('has each reference lead somewhere', () => {
    const namesOf = (kind: string) => ofKind(objects, kind).map(({ metadata }) => metadata.name)
    for (const { envFrom = [], env = [] } of containersOf(objects)) {
      for (const { configMapRef, secretRef } of envFrom) {
        if (configMapRef) expect(namesOf('ConfigMap')).toContain(configMapRef.name)
        if (secretRef) expect(SECRETS).toContain(secretRef.name)
      }
      for (const { valueFrom } of env)
        if (valueFrom) expect(secretKeys(valueFrom.secretKeyRef.name)).toContain(valueFrom.secretKeyRef.key)
    }
    for (const { pod } of pods) expect(namesOf('ServiceAccount')).toContain(pod.serviceAccountName)
    for (const { metadata, spec } of services) {
      const chosen = pods.filter(({ labels }) => isTaken(labels, { matchLabels: spec.selector as Labels }))
      expect(chosen).toHaveLength(1)
      const ports = chosen[0]?.pod.containers[0]?.ports?.map(({ name }) => name)
      for (const { targetPort } of spec.ports ?? [])
        expect([metadata.name, ports]).toEqual([metadata.name, expect.arrayContaining([targetPort])])
    }
    const scalers = [...ofKind(objects, 'HorizontalPodAutoscaler'), ...ofKind(objects, 'ScaledObject')]
    for (const { spec } of scalers) expect(namesOf('Deployment')).toContain(spec.scaleTargetRef?.name)
    for (const { spec } of ofKind(objects, 'PodDisruptionBudget'))
      expect(isTaken(labelsOf('server'), spec.selector)).toBe(true)
    for (const { spec, metadata } of ofKind(objects, 'NetworkPolicy'))
      expect([metadata.name, pods.some(({ labels }) => isTaken(labels, spec.podSelector))]).toEqual([
        metadata.name,
        true,
      ])
    for (const { spec } of ofKind(objects, 'Deployment'))
      expect(isTaken(spec.template?.metadata.labels ?? {}, spec.selector)).toBe(true)
  })

  it('lets Prometheus find both jobs by the names that the alerts have', () => {
    for (const { spec } of ofKind(objects, 'ServiceMonitor')) {
      const chosen = services.filter(({ metadata }) => isTaken(metadata.labels ?? {}, spec.selector))
      expect(chosen.map(({ metadata }) => metadata.name)).toEqual(['easel-server', 'easel-worker'])
      for (const { spec: service } of chosen)
        expect(service.ports?.map(({ name }) => name)).toContain(spec.endpoints?.[0]?.port)
    }
    expect(textOf('deploy/prometheus/alerts.yml')).toContain('up{job=~"easel-(server|worker)"}')
  })

  it('serves the host of BASE_URL, and waits and takes as much as Easel does', () => {
    const host = new URL(podOf('server').config().baseUrl).host
    expect(ingress.spec.rules?.map((rule) => rule.host)).toEqual([host])
    expect(ingress.spec.tls?.[0]?.hosts).toEqual([host])
    const backend = ingress.spec.rules?.[0]?.http.paths[0]?.backend.service
    const service = services.find(({ metadata }) => metadata.name === backend?.name)
    expect(service?.spec.ports?.map(({ name }) => name)).toContain(backend?.port.name)
    const annotation = (name: string) => ingress.metadata.annotations?.[`nginx.ingress.kubernetes.io/${name}`]
    const longest = sourceNumber('src/process/start-server.ts', 'CREATE_IMAGE_TIMEOUT_SECONDS = ')
    expect(longest).toBeGreaterThan(60)
    expect(Number(annotation('proxy-read-timeout'))).toBeGreaterThan(longest)
    expect(Number.parseInt(annotation('proxy-body-size') ?? '', 10)).toBeGreaterThan(MAX_COVER_MB)
    const alive = services.find(({ metadata }) => metadata.name === annotation('default-backend'))
    expect(alive?.spec).toMatchObject({ publishNotReadyAddresses: true })
  })

  it('lets pods reach and be reached only as they need', () => {
    const policies = ofKind(objects, 'NetworkPolicy')
    const allowed = (component: string, way: 'from' | 'to') => {
      const rules = policies
        .filter(({ spec }) => isTaken(labelsOf(component), spec.podSelector))
        .flatMap(({ spec }) => (way === 'from' ? spec.ingress : spec.egress) ?? [])
      const lines = rules.flatMap((rule) =>
        (rule[way] ?? []).flatMap(({ namespaceSelector, ipBlock }) =>
          rule.ports.map(({ port, endPort }) => {
            const place = namespaceSelector?.matchLabels['kubernetes.io/metadata.name'] ?? ipBlock?.cidr ?? 'anywhere'
            return `${place} ${port}${endPort ? `-${endPort}` : ''}`
          }),
        ),
      )
      return [...new Set(lines)].sort()
    }
    const monitored = ofKind(objects, 'ServiceMonitor').length > 0 ? ['monitoring 9464'] : []
    expect(allowed('server', 'from')).toEqual(['ingress-nginx 3000', ...monitored])
    expect(allowed('worker', 'from')).toEqual(monitored)
    expect(allowed('migrate', 'from')).toEqual([])

    const PRIVATE = ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']
    const dns = ['169.254.20.10/32 53', 'kube-system 53']
    const privately = (...ports: number[]) => PRIVATE.flatMap((cidr) => ports.map((port) => `${cidr} ${port}`))
    const publicly = (...ports: string[]) =>
      ['0.0.0.0/0', '::/0'].flatMap((cidr) => ports.map((port) => `${cidr} ${port}`))
    expect(allowed('migrate', 'to')).toEqual([...dns, ...privately(5432)].sort())
    expect(allowed('server', 'to')).toEqual(
      [...dns, ...privately(5432, 6379, 9000), ...publicly('443', '1-65535')].sort(),
    )
    expect(allowed('worker', 'to')).toEqual(
      [...dns, ...privately(5432, 6379, 9000, 8188, 7860, 1234, 8080), ...publicly('443')].sort(),
    )
    const blocks = policies.flatMap(({ spec }) => spec.egress ?? []).flatMap(({ to = [] }) => to)
    for (const { ipBlock } of blocks) {
      if (ipBlock?.cidr === '0.0.0.0/0')
        expect(ipBlock.except?.toSorted()).toEqual([...PRIVATE.slice(0, 4), '169.254.0.0/16'].sort())
      if (ipBlock?.cidr === '::/0') expect(ipBlock.except).toEqual(['fc00::/7', 'fe80::/10'])
    }
    // Without it, what no policy names would be open.
    expect(policies.find(({ metadata }) => metadata.name === 'easel-nobody')?.spec).toEqual({
      podSelector: { matchLabels: { 'app.kubernetes.io/name': 'easel' } },
      policyTypes: ['Ingress', 'Egress'],
    })
  })
})

describe.skipIf(!kubectl)('kustomize', () => {
  it.each(READABLE)('builds of %s what these tests read where it is missing', (overlay) => {
    const named = (objects: readonly KubernetesObject[]) =>
      new Map(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]))
    const anonymous = (objects: readonly KubernetesObject[]) =>
      JSON.parse(JSON.stringify(objects).replace(/"(easel|easel-worker)-[2-9bcdfghkmt]{10}"/g, '"$1"'))
    expect(named(anonymous(built(kubectl as string, overlay)))).toEqual(named(read(overlay)))
  })
})

describe('secrets', () => {
  it.each(SECRETS)('has an example of %s without a value, which kubectl does not apply', (secret) => {
    const lines = textOf(`deploy/kubernetes/secrets/${secret}.env.example`).split('\n')
    for (const line of lines) expect(line).toMatch(/^(#.*|[A-Z][A-Z0-9_]+=)?$/)
  })

  it('keeps the filled-in ones out of git', () => {
    expect(textOf('.gitignore').split('\n')).toContain('deploy/kubernetes/secrets/*.env')
  })
})

describe('the number of workers by the queue', () => {
  const { spec } = parse(textOf('deploy/kubernetes/components/gpu-workers/scaled-object.yaml'))
  const { query } = spec.triggers[0].metadata as { readonly query: string }

  it('is asked for by metrics that servers have', async () => {
    const text = await openMetrics({ process: 'server', version: '0' }).text()
    const names = query.match(/easel_\w+/g) ?? []
    expect(names).toEqual(['easel_generations_running', 'easel_queue_waiting'])
    for (const name of names) expect(text).toContain(`# TYPE ${name} gauge`)
  })

  it.skipIf(!prometheus)('counts each generation once, and knows an empty queue from an unknown one', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'easel-promtool-'))
    onTestFinished(() => rm(directory, { recursive: true, force: true }))
    const running = (pod: string, value: number) => `easel_generations_running{namespace="easel",pod="${pod}"} ${value}`
    const waiting = (pod: string, model: string, value: number) =>
      `easel_queue_waiting{namespace="easel",pod="${pod}",model="${model}"} ${value}`
    const elsewhere = 'easel_generations_running{namespace="other"} 9'
    const cases: readonly (readonly [string[], number | undefined])[] = [
      [
        [
          running('a', 1),
          running('b', 1),
          ...['a', 'b'].flatMap((pod) => [waiting(pod, 'x', 4), waiting(pod, 'y', 2)]),
          elsewhere,
        ],
        7,
      ],
      [[running('a', 0), running('b', 0), elsewhere], 0],
      [[elsewhere], undefined],
    ]
    const tests = cases.map(([series, value]) => ({
      interval: '15s',
      input_series: series.map((line) => ({ series: line.replace(/ \d+$/, ''), values: line.split(' ').at(-1) })),
      promql_expr_test: [
        { expr: query, eval_time: '0s', exp_samples: value === undefined ? [] : [{ labels: '{}', value }] },
      ],
    }))
    const file = join(directory, 'tests.yml')
    await writeFile(file, JSON.stringify({ tests }))
    expect(await promtool(prometheus as string, ['test', 'rules', file])).toContain('SUCCESS')
  })
})

it('makes of the alerts an object of the Prometheus operator, as the docs say', async () => {
  const [, command = ''] = /```sh\n([^`]*PrometheusRule[^`]*)```/.exec(textOf('docs/kubernetes.md')) ?? []
  const made = command.trim().replace('kubectl apply -f -', 'cat')
  const { stdout } = await promisify(execFile)('sh', ['-c', made], { cwd: ROOT })
  const groups: readonly { readonly rules: readonly { readonly alert: string }[] }[] = parse(
    textOf('deploy/prometheus/alerts.yml'),
  ).groups
  const rules = groups[0]?.rules.filter(({ alert }) => alert !== 'EaselProcessMissing')
  expect(rules?.length).toBeGreaterThan(10)
  expect(parse(stdout)).toMatchObject({ kind: 'PrometheusRule', spec: { groups: [{ name: 'easel', rules }] } })
})

describe('deploy/kubernetes/apply', () => {
  /** Runs it with a kubectl that writes down what it is asked. */
  async function apply(stateOfTheJob: string) {
    const directory = await mkdtemp(join(tmpdir(), 'easel-kubectl-'))
    onTestFinished(() => rm(directory, { recursive: true, force: true }))
    const program = join(directory, 'kubectl')
    const log = join(directory, 'log')
    await writeFile(
      program,
      `#!/bin/sh
printf '%s\\n' "$*" >>'${log}'
case $* in
kustomize*) printf 'kind: ServiceAccount\nmetadata:\n  name: easel\n  namespace: drawing\n' ;;
*' get '*) echo '${stateOfTheJob}' ;;
esac
`,
    )
    await chmod(program, 0o755)
    const env = { PATH: `${directory}${delimiter}${process.env.PATH}` }
    const script = join(ROOT, 'deploy/kubernetes/apply')
    const ended = await promisify(execFile)(script, [join(FOLDER, 'overlays/small')], { env }).then(
      () => 'well',
      ({ stderr }) => stderr as string,
    )
    const asked = (await readFile(log, 'utf8')).trim().split('\n')
    return { ended, asked: asked.map((line) => line.replace(/ -f \S+/, '').replace(/app\.kubernetes\.io\//, '')) }
  }
  const before = [
    expect.stringMatching(/^kustomize \S+\/overlays\/small$/),
    '-n drawing delete job -l component=migrate',
    'apply -l component notin (server, worker)',
    expect.stringMatching(/^-n drawing get job -l component=migrate /),
  ]

  it('migrates, then changes servers, then workers', async () => {
    const { ended, asked } = await apply('SuccessCriteriaMet Complete')
    expect(ended).toBe('well')
    expect(asked).toEqual([
      ...before,
      'apply -l component!=worker',
      expect.stringMatching(/^-n drawing rollout status deployment -l component=server /),
      'apply',
    ])
  })

  it('changes neither where the migrations fail', async () => {
    const { ended, asked } = await apply('FailureTarget Failed')
    expect(ended).toContain('kubectl -n drawing logs -l app.kubernetes.io/component=migrate')
    expect(asked).toEqual(before)
  })

  it('leaves to the second step all that it must not begin with', () => {
    for (const [, objects] of overlays) {
      const components = new Set(['HorizontalPodAutoscaler', 'ScaledObject', 'Deployment'])
      for (const { kind, metadata } of objects)
        if (components.has(kind)) expect(metadata.labels?.['app.kubernetes.io/component']).toMatch(/^(server|worker)$/)
      const first = objects.filter(
        ({ metadata }) => !/^(server|worker)$/.test(metadata.labels?.['app.kubernetes.io/component'] ?? ''),
      )
      const kinds = first.map(({ kind }) => kind)
      for (const needed of ['Namespace', 'ServiceAccount', 'NetworkPolicy', 'Job']) expect(kinds).toContain(needed)
    }
  })
})
