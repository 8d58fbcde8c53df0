-- How far audits have come: everything before has ended, was looked at and was right. Neither changes any more, so the
-- next audit begins here.
CREATE TABLE audit_progress (
  only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  seq         bigint NOT NULL DEFAULT 0,
  ledger_id   bigint NOT NULL DEFAULT 0
);
--> statement-breakpoint
INSERT INTO audit_progress DEFAULT VALUES;
