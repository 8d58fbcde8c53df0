/** The guards that are code. */
import type { Guard } from './guard.js'
import {
  endedLockIsTakenOver,
  LOST,
  NOBODY_HAS,
  plant,
  putBackIsEnqueued,
  rebuiltAfterWipe,
  takenOver,
} from './guard-probes.js'

const SOON = `now() + interval '8 seconds'`
/** Below the ordinary deadline, so that what is stuck is seen soon; above two lost workers' leases. */
const SHORT_DEADLINE = { GENERATION_DEADLINE_SECONDS: '20' }

/** Within a minute after a worker has started nothing is given up: from here on they have all been there for longer. */
const SETTLED = `
  CREATE FUNCTION settled() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN NEW.changed_at := now() - interval '70 seconds'; RETURN NEW; END $$;
  CREATE TRIGGER settled BEFORE INSERT OR UPDATE ON backends FOR EACH ROW EXECUTE FUNCTION settled();
  UPDATE backends SET name = name`

/** A worker that dies between the record of an end and the release of the lock. */
const KEEPS_LOCK = 'run.after_succeed=kill@0.3'

export const CODE_GUARDS: readonly Guard[] = [
  {
    name: 'an attempt that was taken over writes nothing (the fence)',
    // Neither number moves on, so that the old worker's writes still find their row.
    drop: `
      CREATE FUNCTION unfenced() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN NEW.attempt := OLD.attempt; NEW.tries := OLD.tries; RETURN NEW; END $$;
      CREATE TRIGGER a_unfenced BEFORE UPDATE ON generations FOR EACH ROW EXECUTE FUNCTION unfenced()`,
    noticedBy: ['I17'],
    failpoints: 'run.after_claim=delay:3000@1,run.before_succeed=stop@1',
    // The probe wakes them up.
    run: { stoppedForMs: [60_000, 60_000] },
    probe: takenOver,
  },
  {
    name: 'a lock whose generation has ended is taken over by the next submit',
    off: ['lock.verify'],
    noticedBy: ['blocked'],
    probe: endedLockIsTakenOver,
  },
  {
    name: 'the lock of a submit that died expires',
    off: ['lock.expiry'],
    noticedBy: ['I9', 'blocked'],
    blockedMs: 16_500,
    failpoints: 'submit.after_lock=kill@0.3',
  },
  {
    name: 'the reconciler clears locks whose generation has ended',
    off: ['reconcile.clear_locks', 'lock.verify'],
    coveredBy: 'the taking over by the next submit',
    // The processes start afresh after the faults, so the reconciler has been there before the users' last submits.
    noticedBy: ['I9'],
    failpoints: KEEPS_LOCK,
  },
  {
    name: 'the reconciler restores the locks that a wipe of Redis took',
    off: ['reconcile.restore_locks'],
    noticedBy: ['I6'],
    probe: rebuiltAfterWipe,
  },
  {
    name: 'the reconciler notices a wipe of Redis',
    off: ['reconcile.notice_wipe'],
    noticedBy: ['rebuilt'],
    probe: rebuiltAfterWipe,
  },
  {
    name: 'the reconciler enqueues what it has put back',
    off: ['reconcile.enqueue'],
    noticedBy: ['enqueued'],
    probe: putBackIsEnqueued,
  },
  {
    name: 'the reconciler takes over from lost workers',
    off: ['reconcile.requeue_lost'],
    noticedBy: ['I8'],
    run: { forMs: 8000, lanes: ['worker'], rate: 3, mayExpire: false, env: SHORT_DEADLINE },
  },
  {
    name: 'the reconciler gives up what has lost five workers',
    off: ['reconcile.fail_lost'],
    noticedBy: ['I8'],
    run: { mayExpire: false },
    attack: (scene) => plant(scene, { ...LOST, attempt: '5', deaths: '4', deadline_at: SOON }),
  },
  {
    name: 'the reconciler gives up what no GPU can serve',
    off: ['reconcile.fail_unservable'],
    noticedBy: ['I8'],
    run: { mayExpire: false },
    attack: async (scene) => {
      await scene.client.query(SETTLED)
      await plant(scene, { filename: `'${NOBODY_HAS.filename}'`, deadline_at: SOON })
    },
  },
  {
    name: 'the reconciler ends what is past its deadline',
    off: ['reconcile.fail_expired'],
    noticedBy: ['I8'],
    run: { healMs: 8000 },
    attack: (scene) =>
      plant(scene, { not_before: `now() + interval '1 hour'`, deadline_at: `now() + interval '3 seconds'` }),
  },
  {
    name: 'the reconciler grants what plans grant',
    off: ['reconcile.settle_periods'],
    noticedBy: ['periods'],
  },
  {
    name: 'the reconciler tells that a subscription has ended',
    off: ['reconcile.note_ended'],
    noticedBy: ['notices'],
  },
  {
    name: 'the reconciler removes images of what has failed',
    off: ['reconcile.sweep'],
    noticedBy: ['I14'],
    probe: rebuiltAfterWipe,
  },
  {
    name: 'the reconciler forgets what is kept for a time only',
    off: ['reconcile.clean'],
    noticedBy: ['kept'],
    probe: rebuiltAfterWipe,
  },
]
