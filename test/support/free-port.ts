import { freePort as freePortOn } from '../../src/local/listening-port.js'

export const freePort = (): Promise<number> => freePortOn('127.0.0.1')
