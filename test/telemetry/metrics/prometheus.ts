/** A real Prometheus over the files that operators get, in a hurry. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../../support/compile.js'
import { freePort } from '../../support/free-port.js'
import { until } from '../../support/until.js'

export const CONFIG = join(ROOT, 'deploy/prometheus/prometheus.yml')
export const RULES = join(ROOT, 'deploy/prometheus/alerts.yml')
export const DASHBOARD = join(ROOT, 'deploy/grafana/dashboards/easel.json')

/** What promtool says about a file, or about its standard input. @throws with all it found */
export async function promtool(prometheus: string, args: readonly string[], input = ''): Promise<string> {
  const running = promisify(execFile)(join(prometheus, '../promtool'), args)
  running.child.stdin?.end(input)
  const { stdout, stderr } = await running
  return stdout + stderr
}

export interface Prometheus {
  /** The samples of a query: their labels, and the value now. */
  query(expression: string): Promise<{ readonly metric: Record<string, string>; readonly value: number }[]>
  /** Names of the alerts that fire now. */
  firing(): Promise<string[]>
  /** The rules it has loaded, with how each went. */
  rules(): Promise<{ readonly name: string; readonly health: string }[]>
  stop(): Promise<void>
}

/**
 * Alerts fire at once, look back a few seconds, and everything is scraped five times a second. But a process is missing only
 * after many scrapes, as in the rule: one that takes longer than its fifth of a second, on a busy machine, counts as failed.
 */
const hurried = (rules: string): string =>
  rules
    .replace(/^( +)for: \w+$/gm, '$1for: 0s')
    .replace(/(alert: EaselProcessMissing\n[\s\S]*?for:) 0s/, '$1 10s')
    .replace(/\[1h:1m\]/g, '[1m:1s]')
    .replace(/\[\d+m\]/g, '[5s]')

/** @param targets host and port of each, by the job of prometheus.yml, which asks the DNS of compose for them */
export async function startPrometheus(
  program: string,
  targets: Readonly<Record<string, readonly string[]>>,
): Promise<Prometheus> {
  const directory = await mkdtemp(join(tmpdir(), 'easel-prometheus-'))
  const config = (await readFile(CONFIG, 'utf8'))
    .replace(/_interval: 15s$/gm, '_interval: 200ms')
    .replace(/job_name: (.+)\n +dns_sd_configs:\n.+$/gm, (_, job: string) => {
      return `job_name: ${job}\n    static_configs: [{ targets: ${JSON.stringify(targets[job])} }]`
    })
  await writeFile(join(directory, 'prometheus.yml'), config)
  await writeFile(join(directory, 'alerts.yml'), hurried(await readFile(RULES, 'utf8')))
  const port = await freePort()
  const log: string[] = []
  const child = spawn(
    program,
    [
      ...[`--config.file=${directory}/prometheus.yml`, `--storage.tsdb.path=${directory}/data`],
      ...[`--web.listen-address=127.0.0.1:${port}`, '--log.level=warn'],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  child.stderr.on('data', (line) => log.push(String(line)))
  const ended = once(child, 'exit')
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const ask = async (path: string) => {
    const answer = await (await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)).json()
    if (answer.status !== 'success') throw new Error(`Prometheus refuses ${path}: ${answer.error}`)
    return answer.data
  }
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`Prometheus ended:\n${log.join('')}`)
    return (await fetch(`http://127.0.0.1:${port}/-/ready`).catch(() => undefined))?.ok
  }, 'a Prometheus that is ready')

  const query: Prometheus['query'] = async (expression) => {
    const { result } = await ask(`query?query=${encodeURIComponent(expression)}`)
    return result.map(({ metric, value }: { metric: Record<string, string>; value: [number, string] }) => ({
      metric,
      value: Number(value[1]),
    }))
  }
  return {
    query,
    async firing() {
      const found = await query('count by (alertname) (ALERTS{alertstate="firing"})')
      return found.map(({ metric }) => metric.alertname ?? '')
    },
    async rules() {
      const { groups } = await ask('rules')
      return groups.flatMap(({ rules }: { rules: { name: string; health: string }[] }) => rules)
    },
    async stop() {
      process.off('exit', kill)
      kill()
      await ended
      await rm(directory, { recursive: true, force: true })
    },
  }
}
