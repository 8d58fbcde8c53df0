-- What an operator asks afterwards: which request a generation came from, and what became of each attempt. The latest
-- attempt is in the generation's own row, where the claim notes its time; an attempt that was put back gets a row here,
-- in the statement that puts it back. So neither a claim nor a success writes a row more.
ALTER TABLE generations
  -- The x-request-id of its submit, which log lines of servers and workers name.
  ADD COLUMN request_id text,
  -- The W3C trace context of its submit, where traces are on.
  ADD COLUMN traceparent text,
  ADD COLUMN claimed_at timestamptz;
--> statement-breakpoint
CREATE TABLE put_back_attempts (
  generation_id text NOT NULL,
  attempt       integer NOT NULL,
  worker        text,
  backend       text,
  claimed_at    timestamptz,
  put_back_at   timestamptz NOT NULL DEFAULT now(),
  -- A word of the code's: a kind of BackendError, or why the worker gave it up.
  reason        text NOT NULL,
  -- Whether it cost a try.
  counted       boolean NOT NULL,
  PRIMARY KEY (generation_id, attempt)
);
