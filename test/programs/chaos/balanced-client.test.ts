import { expect, it, onTestFinished } from 'vitest'
import { balancedClient } from './balanced-client.js'

it('a client that repeats itself while no server is ready leaves everything else its turn', async () => {
  const client = balancedClient()
  onTestFinished(() => client.close())
  let over = false
  setTimeout(() => (over = true), 1)
  while (!over && client.exchanges.length < 1000) await client.send({ method: 'GET', path: '/' })
  expect(client.exchanges.length).toBeLessThan(1000)
})
