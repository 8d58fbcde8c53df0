/** File systems that answer with an error, as the kernel would, to what this process does with open files. */
import { open } from 'node:fs/promises'
import { onTestFinished, vi } from 'vitest'

const WORDS = { sync: 'fsync', writeFile: 'write' } as const

/** Until the test ends, or `mend`, this fails with this code, of directories, of files or of both. */
export async function givenFileError(code: string, method: keyof typeof WORDS, of: 'directory' | 'file' | 'both') {
  const handle = await open('.')
  await handle.close()
  const methods = Object.getPrototypeOf(handle) as Record<keyof typeof WORDS, (...given: unknown[]) => Promise<unknown>>
  const real = methods[method]
  const spy = vi.spyOn(methods, method).mockImplementation(async function (this: typeof handle, ...given) {
    const isMeant = of === 'both' || (await this.stat()).isDirectory() === (of === 'directory')
    if (!isMeant) return real.apply(this, given)
    // As Node words it: without a path.
    throw Object.assign(new Error(`${code}: not today, ${WORDS[method]}`), { code, syscall: WORDS[method] })
  })
  onTestFinished(() => spy.mockRestore())
  return { mend: () => spy.mockRestore() }
}
