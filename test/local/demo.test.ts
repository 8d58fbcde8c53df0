import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newDirectory, runLocal } from './run-local.js'

describe('npm run demo', () => {
  it('starts nothing if a variable is wrong', async () => {
    const fresh = await newDirectory()
    const demo = runLocal(fresh, ['demo', 'a red fox'], { PORT: 'many' })
    expect(await demo.exit).toBe(1)
    expect(demo.output.stderr).toBe('error: PORT must be a whole number from 1 to 65535\n')
    await expect(stat(join(fresh, '.easel'))).rejects.toThrow('ENOENT')
  })
})
