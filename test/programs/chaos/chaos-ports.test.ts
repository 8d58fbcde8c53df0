import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { chaosOptions, chaosPorts } from './chaos-ports.js'
import { FAILPOINTS, type Failpoint, SWITCHABLE_GUARDS, type SwitchableGuard } from './failpoint.js'

type Wrapper = 'submits' | 'runs' | 'repairs'
// biome-ignore lint/suspicious/noExplicitAny: only some of the ports, and what their calls need
type Wrap = (ports: any) => any
type Answer = (...given: unknown[]) => unknown

/** A port of these answers; each call is noted before it is answered. */
const noting = (calls: string[], port: string, answers: Record<string, Answer>) =>
  Object.fromEntries(
    Object.entries(answers).map(([method, answer]) => [
      method,
      (...given: unknown[]) => {
        calls.push(`${port}.${method}`)
        return answer(...given)
      },
    ]),
  )

const yes = async () => true
const some = async () => [{ id: 'gen_1' }]
const PORTS: Readonly<Record<Wrapper, Record<string, Record<string, Answer>>>> = {
  submits: {
    idempotency: { reserve: async () => ({ outcome: 'reserved' }), release: yes },
    lock: { acquire: async () => ({ acquired: true }), replace: yes },
    submissions: { insert: async () => ({ outcome: 'inserted' }), markEnqueued: yes },
    watch: { watch: () => () => undefined },
    cancels: { cancel: async () => ({ id: 'gen_1' }) },
  },
  runs: {
    runs: { heartbeat: yes, succeed: yes, fail: yes, requeue: async () => 2 },
    images: {
      put: async (_slug, _png, options) => (options as { isWanted?: () => unknown } | undefined)?.isWanted?.(),
    },
    lock: { release: yes },
  },
  repairs: {
    rows: {
      ...{ requeueLost: some, failLost: some, failExpired: some, failUnservable: some, notEnqueued: some },
      ...{ markEnqueued: yes, activePage: some, wastedSlugs: some, clean: yes },
    },
    lock: {
      async *all() {
        yield [{ accountId: 'a', generationId: 'gen_1' }]
      },
    },
    periods: { settle: some, noteEnded: some },
    queue: { withdraw: yes },
    wipeMark: { present: async () => false, begin: yes, finish: yes },
  },
}

/** Ports wrapped for a process with these variables, and the calls that reach what was wrapped. */
function wrapped(env: Record<string, string>) {
  const calls: string[] = []
  const wrappers = chaosPorts(env)
  const backend = { ...noting(calls, 'backend', { generate: some }), name: 'fake' }
  const portsOf = (wrapper: Wrapper) => {
    const ports = Object.entries(PORTS[wrapper]).map(([port, answers]) => [port, noting(calls, port, answers)])
    return (wrappers[wrapper] as Wrap)(Object.fromEntries(ports))
  }
  return {
    calls,
    submits: portsOf('submits'),
    runs: portsOf('runs'),
    repairs: portsOf('repairs'),
    backend: (wrappers.backend as Wrap)(backend),
  }
}

type Wrapped = ReturnType<typeof wrapped>
type Place = [act: (ports: Wrapped) => unknown, call: string, when: 'before' | 'after']

const cancel = (onlyQueued: boolean) => (ports: Wrapped) =>
  ports.submits.cancels.cancel('gen_1', 'Canceled.', { onlyQueued })

const PLACES: Readonly<Record<Failpoint, readonly Place[]>> = {
  'idempotency.after_reserve': [[({ submits }) => submits.idempotency.reserve(), 'idempotency.reserve', 'after']],
  'idempotency.before_release': [[({ submits }) => submits.idempotency.release(), 'idempotency.release', 'before']],
  'submit.after_lock': [
    [({ submits }) => submits.lock.acquire(), 'lock.acquire', 'after'],
    [({ submits }) => submits.lock.replace(), 'lock.replace', 'after'],
  ],
  'submit.before_insert': [[({ submits }) => submits.submissions.insert(), 'submissions.insert', 'before']],
  'submit.after_insert': [[({ submits }) => submits.submissions.insert(), 'submissions.insert', 'after']],
  'submit.after_enqueue': [[({ submits }) => submits.submissions.markEnqueued(), 'submissions.markEnqueued', 'before']],
  'create_image.before_wait': [[({ submits }) => submits.watch.watch(), 'watch.watch', 'before']],
  'create_image.before_cancel': [[cancel(true), 'cancels.cancel', 'before']],
  'cancel.after_end': [
    [cancel(true), 'cancels.cancel', 'after'],
    [cancel(false), 'cancels.cancel', 'after'],
  ],
  'run.after_claim': [[({ backend }) => backend.generate(), 'backend.generate', 'before']],
  'run.after_infer': [[({ backend }) => backend.generate(), 'backend.generate', 'after']],
  'run.before_put': [[({ runs }) => runs.images.put(), 'images.put', 'before']],
  'run.after_put': [[({ runs }) => runs.images.put(), 'images.put', 'after']],
  'run.before_succeed': [[({ runs }) => runs.runs.succeed(), 'runs.succeed', 'before']],
  'run.after_succeed': [[({ runs }) => runs.runs.succeed(), 'runs.succeed', 'after']],
  'run.before_fail': [[({ runs }) => runs.runs.fail(), 'runs.fail', 'before']],
  'run.after_fail': [[({ runs }) => runs.runs.fail(), 'runs.fail', 'after']],
  'run.before_requeue': [[({ runs }) => runs.runs.requeue(), 'runs.requeue', 'before']],
  'run.after_requeue': [[({ runs }) => runs.runs.requeue(), 'runs.requeue', 'after']],
  'run.after_release': [[({ runs }) => runs.lock.release(), 'lock.release', 'after']],
  'lease.before_heartbeat': [[({ runs }) => runs.runs.heartbeat(), 'runs.heartbeat', 'before']],
  'reconcile.after_requeue_lost': [[({ repairs }) => repairs.rows.requeueLost(), 'rows.requeueLost', 'after']],
  'reconcile.after_fail': [
    [({ repairs }) => repairs.rows.failLost(), 'rows.failLost', 'after'],
    [({ repairs }) => repairs.rows.failExpired(), 'rows.failExpired', 'after'],
    [({ repairs }) => repairs.rows.failUnservable(), 'rows.failUnservable', 'after'],
    [({ repairs }) => repairs.queue.withdraw(), 'queue.withdraw', 'before'],
  ],
  'reconcile.after_enqueue': [[({ repairs }) => repairs.rows.markEnqueued(), 'rows.markEnqueued', 'before']],
  'reconcile.after_mark': [[({ repairs }) => repairs.rows.markEnqueued(), 'rows.markEnqueued', 'after']],
  'reconcile.before_locks': [[({ repairs }) => repairs.wipeMark.begin(), 'wipeMark.begin', 'before']],
  'reconcile.before_mark': [[({ repairs }) => repairs.wipeMark.finish(), 'wipeMark.finish', 'before']],
}

const directory = mkdtempSync(join(tmpdir(), 'easel-chaos-ports-'))
afterAll(() => rmSync(directory, { recursive: true }))

const ALL_PLACES = FAILPOINTS.flatMap((name) => PLACES[name].map((place, i) => [name, i, ...place] as const))

it.each(ALL_PLACES)('the place %s (%i) is passed once', async (name, i, act, call, when) => {
  const log = join(directory, `${name}.${i}`)
  const ports = wrapped({ FAILPOINTS: `${name}=throw@1`, FAILPOINTS_LOG: log })
  const thrown = await Promise.resolve(act(ports)).then(
    () => undefined,
    (error) => error.message,
  )
  expect(readFileSync(log, 'utf8')).toBe(`${name}\n`)
  // Who watches is not told of an error there.
  if (call === 'watch.watch') return
  expect({ thrown, calls: ports.calls }).toEqual({
    thrown: 'thrown by a failpoint',
    calls: when === 'after' ? [call] : [],
  })
})

it('the place lease.before_heartbeat is not passed when a put asks whether the attempt is still its own', async () => {
  const ports = wrapped({ FAILPOINTS: 'lease.before_heartbeat=throw@1' })
  await ports.runs.images.put('slug', Buffer.of(), { isWanted: () => ports.runs.runs.heartbeat() })
  expect(ports.calls).toEqual(['images.put', 'runs.heartbeat'])
})

it('a pause before a wait begins the watch later, and not at all once nobody waits any more', async () => {
  const ports = wrapped({ FAILPOINTS: 'create_image.before_wait=delay:20@1' })
  ports.submits.watch.watch()()
  ports.submits.watch.watch()
  expect(ports.calls).toEqual([])
  await expect.poll(() => ports.calls).toEqual(['watch.watch'])
})

async function listOf(pages: AsyncIterable<unknown>) {
  const all: unknown[] = []
  for await (const page of pages) all.push(page)
  return all
}

const CALLS: Readonly<
  Record<Exclude<SwitchableGuard, 'lock.expiry'>, [act: (ports: Wrapped) => unknown, off: unknown]>
> = {
  'lock.verify': [({ submits }) => submits.lock.replace(), false],
  'reconcile.requeue_lost': [({ repairs }) => repairs.rows.requeueLost(), []],
  'reconcile.fail_lost': [({ repairs }) => repairs.rows.failLost(), []],
  'reconcile.fail_expired': [({ repairs }) => repairs.rows.failExpired(), []],
  'reconcile.fail_unservable': [({ repairs }) => repairs.rows.failUnservable(), []],
  'reconcile.enqueue': [({ repairs }) => repairs.rows.notEnqueued(), []],
  'reconcile.notice_wipe': [({ repairs }) => repairs.wipeMark.present(), true],
  'reconcile.restore_locks': [({ repairs }) => repairs.rows.activePage(), []],
  'reconcile.clear_locks': [({ repairs }) => listOf(repairs.lock.all()), []],
  'reconcile.sweep': [({ repairs }) => repairs.rows.wastedSlugs(), []],
  'reconcile.settle_periods': [({ repairs }) => repairs.periods.settle(), 0],
  'reconcile.note_ended': [({ repairs }) => repairs.periods.noteEnded(), undefined],
  'reconcile.clean': [({ repairs }) => repairs.rows.clean(), undefined],
}

it.each(Object.entries(CALLS))(
  'without the guard %s its port is not called, and the others are',
  async (guard, [act, off]) => {
    const ports = wrapped({ GUARDS_OFF: guard })
    expect(await act(ports)).toEqual(off)
    expect(ports.calls).toEqual([])
    for (const [other, [actOther]] of Object.entries(CALLS)) if (other !== guard) await actOther(ports)
    expect(ports.calls).toHaveLength(Object.keys(CALLS).length - 1)
  },
)

it('without the guard lock.expiry a submit that died keeps its lock longer than any run', () => {
  expect(chaosOptions({ GUARDS_OFF: 'lock.expiry' }).submitTtlMs).toBeGreaterThan(3_600_000)
  expect(chaosOptions({}).submitTtlMs).toBeUndefined()
  expect(SWITCHABLE_GUARDS).toHaveLength(Object.keys(CALLS).length + 1)
})
