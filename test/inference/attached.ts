/** What the tests of every backend behind HTTP do alike. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, onTestFinished } from 'vitest'
import type {
  BackendError,
  InferenceBackend,
  InferenceOptions,
  InferenceRequest,
} from '../../src/generation/run/backend.js'
import { compiled } from '../support/services.js'
import { aRequest, failureOf } from './a1111/given.js'

/** A backend on a stand-in, both closed when the test ends. */
export function attached<StandIn extends { readonly close: () => Promise<void> }>(
  standIn: StandIn,
  backend: InferenceBackend,
) {
  onTestFinished(async () => {
    await backend.close()
    await standIn.close()
  })
  return {
    standIn,
    backend,
    generate: (asked: Partial<InferenceRequest> = {}, how: Partial<InferenceOptions> = {}) =>
      backend.generate(aRequest({ width: 64, height: 64, ...asked }), {
        signal: new AbortController().signal,
        ...how,
      }),
    capabilities: () => backend.capabilities(new AbortController().signal),
  }
}

/** The user reads one sentence without a host; neither he nor the logs read the prompt. */
export function expectDiscreet(error: BackendError, prompt: string): void {
  expect(error.publicMessage).toMatch(/^[A-Z][^.]*\.$/)
  expect(error.publicMessage).not.toMatch(/127\.0\.0\.1|http/)
  expect(`${error.message} ${error.cause}`).not.toContain(prompt.slice(0, 15))
}

/** Asks a server that insists on other credentials; none of them may be told anywhere. */
export async function expectAuthFailure(backend: InferenceBackend, secrets: RegExp): Promise<void> {
  const error = await failureOf(backend.capabilities(new AbortController().signal))
  await backend.close()
  expect(error.kind).toBe('auth')
  const told = [backend.name, error.message, error.publicMessage, error.stack, JSON.stringify(error)].join('\n')
  expect(told).not.toMatch(secrets)
}

/** Neither a probe nor a generation gets through, and both say so in the same way. */
export async function expectUnavailable(
  { generate, capabilities }: Pick<ReturnType<typeof attached>, 'generate' | 'capabilities'>,
  kind: 'unavailable' | 'unusable' = 'unavailable',
): Promise<void> {
  expect((await failureOf(capabilities())).kind).toBe(kind)
  expect((await failureOf(generate())).kind).toBe(kind)
}

/** What a probe makes of an answer: one that only another kind of server would give does not pass by itself. */
export const probedAs = (fault: string | { readonly status: number }) =>
  fault === 'garbage' || (typeof fault === 'object' && [200, 404].includes(fault.status)) ? 'unusable' : 'unavailable'

/** A stand-in as a process of its own. */
export async function startedProcess(file: string, args: readonly string[]) {
  const child: ChildProcess = spawn(process.execPath, [await compiled(`test/stand-ins/${file}`), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [url] = (await once(createInterface(child.stdout as NodeJS.ReadableStream), 'line')) as [string]
  return {
    url,
    set: (settings: object) => fetch(`${url}/stand-in/set`, { method: 'POST', body: JSON.stringify(settings) }),
    /** Its exit code and signal. */
    end: async () => {
      child.kill('SIGTERM')
      return once(child, 'exit')
    },
  }
}
