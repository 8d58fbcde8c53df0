-- no-transaction
-- Up next: what an account has lined up, to be submitted one after the other.
CREATE TABLE IF NOT EXISTS up_next (
  user_id     uuid PRIMARY KEY REFERENCES users,
  -- Why nothing of it is submitted: the person wants it, or the first idea was refused. Null: it goes on.
  paused      text CHECK (paused IN ('by_person', 'by_refusal')),
  -- When a server looks at it next. Null: it is paused or empty.
  due_at      timestamptz,
  -- Raised with each change of the two above: who looked at it before changes nothing any more.
  version     bigint NOT NULL DEFAULT 0
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS up_next_due ON up_next (due_at) WHERE due_at IS NOT NULL;
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS up_next_ideas (
  id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  user_id     uuid NOT NULL REFERENCES up_next ON DELETE CASCADE,
  position    bigint NOT NULL,
  -- The body of a submit, as the API takes it.
  body        jsonb NOT NULL,
  -- Why the submit was refused, as one sentence; null: it was not.
  refusal     text,
  created_at  timestamptz NOT NULL DEFAULT now()
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS up_next_ideas_position ON up_next_ideas (user_id, position);
--> statement-breakpoint
-- With the end of a charged generation its account may have another one: in the same transaction, so that no end is missed.
-- A list that is paused or empty is locked, too: who makes it due waits until the end is stored, and then sees it.
CREATE OR REPLACE FUNCTION make_up_next_due() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  due timestamptz;
BEGIN
  UPDATE up_next SET due_at = CASE WHEN due_at IS NOT NULL THEN now() END, version = version + 1
   WHERE user_id = NEW.user_id RETURNING due_at INTO due;
  IF due IS NOT NULL THEN
    PERFORM pg_notify('up_next_due', '');
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE TRIGGER generations_up_next AFTER UPDATE ON generations FOR EACH ROW
  WHEN (OLD.status IN ('queued', 'processing') AND NEW.status IN ('succeeded', 'failed') AND NOT NEW.metered)
  EXECUTE FUNCTION make_up_next_due();
