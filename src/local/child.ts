/** Entry point of the one-machine stack's server or worker. It stops when its launcher, and so the channel, is gone. */

// SIGTERM ends the process immediately, or in order once the service handles it.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))

if (process.argv[2] === 'worker') await import('../worker.js')
else await import('../server.js')

// If the launcher is dead by now, sending fails and "disconnect" follows.
process.send?.('ready', undefined, undefined, () => undefined)
