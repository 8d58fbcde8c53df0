import { expect, it, onTestFinished } from 'vitest'
import { balancedClient } from './balanced-client.js'

it('the balanced client waits between its tries while no server is ready, so that timers get their turn', async () => {
  const client = balancedClient()
  onTestFinished(() => client.close())
  let over = false
  setTimeout(() => (over = true), 1)
  while (!over && client.exchanges.length < 1000) await client.send({ method: 'GET', path: '/' })
  expect(client.exchanges.length).toBeLessThan(1000)
})
