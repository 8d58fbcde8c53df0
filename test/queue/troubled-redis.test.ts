import { testTroubles } from './troubled-redis.js'

testTroubles(['refuses connections', 'evicts keys', 'is out of memory'])
