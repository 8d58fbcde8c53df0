/**
 * Entry point of a service of the one-machine stack: the server or the worker. It ends when the channel to the process
 * that launched it is closed, because that one was killed.
 */

// Before the service listens for it, the signal ends the process at once; from then on in order.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))

if (process.argv[2] === 'worker') await import('../worker.js')
else await import('../server.js')

// A launcher that is gone by now is told nothing: "disconnect" follows.
process.send?.('ready', undefined, undefined, () => undefined)
