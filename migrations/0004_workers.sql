-- What the running processes tell each other through Postgres.

-- How many Create Image generations were started in a row: the claim's fairness counter.
CREATE TABLE queue_turn (
  only_row             boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  create_image_streak  integer NOT NULL DEFAULT 0
);
--> statement-breakpoint
INSERT INTO queue_turn DEFAULT VALUES;
--> statement-breakpoint
-- What each worker's backends can serve, renewed every few seconds. models NULL: any file name, or not known yet.
CREATE TABLE backends (
  worker      text NOT NULL,
  name        text NOT NULL,
  up          boolean NOT NULL,
  models      text[],
  samplers    text[] NOT NULL DEFAULT '{}',
  max_seed    bigint NOT NULL DEFAULT 4294967295,
  -- When models, samplers or max_seed last changed.
  changed_at  timestamptz NOT NULL DEFAULT now(),
  seen_at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (worker, name)
);
--> statement-breakpoint
-- Who does a duty that one process at a time does, like the reconciler's.
CREATE TABLE leases (
  name     text PRIMARY KEY,
  holder   text NOT NULL,
  until    timestamptz NOT NULL
);
--> statement-breakpoint
-- Live progress in one-machine mode; lost at a crash of Postgres without harm.
CREATE UNLOGGED TABLE generation_progress (
  generation_id  text PRIMARY KEY,
  attempt        integer NOT NULL,
  progress       real NOT NULL,
  updated_at     timestamptz NOT NULL DEFAULT now()
);
