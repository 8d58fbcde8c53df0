-- Generations: the only truth about every job's state. Redis holds nothing that cannot be rebuilt from here.

CREATE TABLE generations (
  id                text PRIMARY KEY,
  -- The queue's order.
  seq               bigint GENERATED ALWAYS AS IDENTITY,
  user_id           uuid NOT NULL REFERENCES users,
  api_key_id        uuid NOT NULL REFERENCES api_keys,
  lane              text NOT NULL CHECK (lane IN ('personal', 'create_image')),
  -- Developer keys: counted in usage instead of charged.
  metered           boolean NOT NULL,
  status            text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'processing', 'succeeded', 'failed')),

  model_version_id  bigint NOT NULL REFERENCES model_versions,
  model_name        text NOT NULL,
  filename          text NOT NULL,
  prompt            text NOT NULL,
  negative_prompt   text NOT NULL,
  width             integer NOT NULL,
  height            integer NOT NULL,
  batch_size        integer NOT NULL CHECK (batch_size BETWEEN 1 AND 4),
  steps             integer NOT NULL,
  cfg_scale         double precision NOT NULL,
  sampler           text NOT NULL,
  seed              bigint NOT NULL CHECK (seed BETWEEN 0 AND 4294967295),
  -- Drawn at submit: a second attempt overwrites its own files.
  slugs             text[] NOT NULL,
  cost              bigint NOT NULL CHECK (cost >= 0),

  -- The fence: raised by every requeue; a worker's write counts only under the attempt it claimed.
  attempt           integer NOT NULL DEFAULT 1,
  -- Faults that named this job; the third one fails it.
  tries             integer NOT NULL DEFAULT 0,
  -- Whether this attempt's delivery is known to have reached the queue.
  rung              boolean NOT NULL DEFAULT false,
  -- A requeued generation keeps its place, but waits this long.
  not_before        timestamptz NOT NULL DEFAULT now(),
  lease_until       timestamptz,
  worker            text,
  backend           text,
  error             text,
  created_at        timestamptz NOT NULL DEFAULT now(),
  started_at        timestamptz,
  finished_at       timestamptz,
  deadline_at       timestamptz NOT NULL,

  CHECK ((status = 'failed') = (error IS NOT NULL)),
  CHECK ((status IN ('succeeded', 'failed')) = (finished_at IS NOT NULL)),
  CHECK (array_length(slugs, 1) = batch_size),
  CHECK (NOT metered OR cost = 0)
);
--> statement-breakpoint
-- The guard behind the Redis lock: one active charged generation per user, whatever Redis says.
CREATE UNIQUE INDEX generations_one_active ON generations (user_id)
  WHERE status IN ('queued', 'processing') AND NOT metered;
--> statement-breakpoint
CREATE INDEX generations_queue ON generations (lane, seq) WHERE status = 'queued';
--> statement-breakpoint
CREATE INDEX generations_unrung ON generations (seq) WHERE status = 'queued' AND NOT rung;
--> statement-breakpoint
-- Without lease_until, so that heartbeats stay cheap (heap-only) updates.
CREATE INDEX generations_processing ON generations (seq) WHERE status = 'processing';
--> statement-breakpoint
CREATE INDEX generations_deadline ON generations (deadline_at) WHERE status IN ('queued', 'processing');
--> statement-breakpoint
CREATE INDEX generations_metered ON generations (api_key_id) WHERE status IN ('queued', 'processing') AND metered;
--> statement-breakpoint
-- What crashed attempts may have left in the picture store.
CREATE INDEX generations_wasted ON generations (finished_at) WHERE status = 'failed' AND started_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX generations_user ON generations (user_id, seq DESC);
--> statement-breakpoint
CREATE FUNCTION guard_generation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status IN ('succeeded', 'failed') THEN
    IF (NEW.status, NEW.attempt, NEW.error, NEW.seed, NEW.cost, NEW.slugs, NEW.finished_at)
       IS DISTINCT FROM (OLD.status, OLD.attempt, OLD.error, OLD.seed, OLD.cost, OLD.slugs, OLD.finished_at) THEN
      RAISE EXCEPTION 'generation % has ended as % and cannot change', OLD.id, OLD.status;
    END IF;
  ELSIF (OLD.status, NEW.status) IN (('queued', 'succeeded')) THEN
    RAISE EXCEPTION 'generation % cannot go from % to %', OLD.id, OLD.status, NEW.status;
  END IF;
  IF NEW.attempt < OLD.attempt THEN
    RAISE EXCEPTION 'the attempt of generation % cannot go back', OLD.id;
  END IF;
  IF (NEW.id, NEW.user_id, NEW.seq, NEW.metered, NEW.created_at) IS DISTINCT FROM (OLD.id, OLD.user_id, OLD.seq, OLD.metered, OLD.created_at) THEN
    RAISE EXCEPTION 'the identity of generation % cannot change', OLD.id;
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER generations_guard BEFORE UPDATE ON generations FOR EACH ROW EXECUTE FUNCTION guard_generation();
--> statement-breakpoint
CREATE TABLE images (
  slug           text PRIMARY KEY,
  generation_id  text NOT NULL REFERENCES generations,
  idx            integer NOT NULL CHECK (idx BETWEEN 0 AND 3),
  seed           bigint NOT NULL,
  width          integer NOT NULL,
  height         integer NOT NULL,
  bytes          bigint NOT NULL,
  sha256         text NOT NULL,
  created_at     timestamptz NOT NULL DEFAULT now(),
  removed_at     timestamptz,
  removed_reason text,
  UNIQUE (generation_id, idx)
);
--> statement-breakpoint
-- One row per image made with a developer key: what its owner is billed for.
CREATE TABLE usage (
  generation_id     text NOT NULL REFERENCES generations,
  idx               integer NOT NULL,
  api_key_id        uuid NOT NULL REFERENCES api_keys,
  user_id           uuid NOT NULL REFERENCES users,
  model_version_id  bigint NOT NULL REFERENCES model_versions,
  created_at        timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (generation_id, idx)
);
--> statement-breakpoint
CREATE INDEX usage_user ON usage (user_id, created_at);
--> statement-breakpoint
-- Every credit that ever moved; append-only.
CREATE TABLE credit_ledger (
  id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id        uuid NOT NULL REFERENCES users,
  kind           text NOT NULL CHECK (kind IN ('grant', 'charge', 'refund')),
  delta          bigint NOT NULL,
  -- The user's balance right after this row.
  balance        bigint NOT NULL,
  generation_id  text REFERENCES generations,
  note           text,
  ref            text,
  created_at     timestamptz NOT NULL DEFAULT now(),
  CHECK ((kind = 'grant') = (generation_id IS NULL)),
  CHECK (kind <> 'charge' OR delta <= 0),
  CHECK (kind <> 'refund' OR delta >= 0),
  -- A generation is charged once and given back at most once.
  UNIQUE (generation_id, kind)
);
--> statement-breakpoint
-- The same reference grants once.
CREATE UNIQUE INDEX credit_ledger_ref ON credit_ledger (user_id, ref) WHERE ref IS NOT NULL;
--> statement-breakpoint
CREATE INDEX credit_ledger_user ON credit_ledger (user_id, id);
--> statement-breakpoint
CREATE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the credit ledger is append-only';
END $$;
--> statement-breakpoint
CREATE TRIGGER credit_ledger_append_only BEFORE UPDATE OR DELETE ON credit_ledger
  FOR EACH ROW EXECUTE FUNCTION refuse_ledger_change();
--> statement-breakpoint
CREATE TABLE idempotency_keys (
  user_id        uuid NOT NULL REFERENCES users,
  key            text NOT NULL,
  body_hash      bytea NOT NULL,
  -- Not a foreign key: the key is reserved before its generation exists.
  generation_id  text NOT NULL,
  created_at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, key)
);
--> statement-breakpoint
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
