import { testTroubles } from './troubled-redis.js'

testTroubles(['stands still', 'is loading its data', 'is a replica, which takes no writes'])
