-- What the last audit of the running service found, for the operator's console: how many violations each check counted.
CREATE TABLE last_audit (
  only_row     boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  finished_at  timestamptz NOT NULL DEFAULT now(),
  took_ms      integer NOT NULL,
  checks       jsonb NOT NULL
);
