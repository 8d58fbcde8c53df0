/**
 * Entry point of a service of the one-machine stack: the server or the worker, tied to the process that launched it.
 * File descriptor 3 is a pipe from there; when it ends, because the launcher lets go or because it was killed, so do we.
 */
import { Socket } from 'node:net'

const lifeline = new Socket({ fd: 3, readable: true, writable: true })
// Before the service listens for it, the signal ends the process at once; from then on in order.
lifeline.once('close', () => process.kill(process.pid, 'SIGTERM'))
lifeline.on('error', () => undefined) // "close" follows
lifeline.resume()

if (process.argv[2] === 'worker') await import('../worker.js')
else await import('../server.js')

lifeline.write('ready\n')
