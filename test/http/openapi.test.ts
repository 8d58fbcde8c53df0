import { createConfig, lintFromString } from '@redocly/openapi-core'
import { describe, expect, it } from 'vitest'
import { useService } from '../support/service.js'

const context = useService({})
const fetched = async () => (await fetch(`${context.service.url}/openapi.json`)).json()

describe('/openapi.json', () => {
  it('is an OpenAPI 3.1 description that a linter has nothing to say about', async () => {
    const config = await createConfig({ extends: ['recommended'] })
    const problems = await lintFromString({ source: JSON.stringify(await fetched()), config })
    expect(problems.map(({ message, location }) => `${message} at ${location[0]?.pointer}`)).toEqual([])
  })
})
