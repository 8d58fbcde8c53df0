/**
 * Entry point of a service of the one-machine stack: the server or the worker. It ends when the channel to the process
 * that launched it is closed, because that one was killed.
 */

// The signal ends the process at once, and in order as soon as the service listens for it.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))

if (process.argv[2] === 'worker') await import('../worker.js')
else await import('../server.js')

// If the launcher is gone by now, sending fails and "disconnect" follows.
process.send?.('ready', undefined, undefined, () => undefined)
