-- Whether the key's generation has been stored, set in the statement that stores it. Whoever takes a reservation over
-- reads this from the row that both have to lock; a look into generations would show what was there before the wait.

ALTER TABLE idempotency_keys ADD COLUMN stored boolean NOT NULL DEFAULT false;
--> statement-breakpoint
UPDATE idempotency_keys k SET stored = true WHERE EXISTS (SELECT FROM generations g WHERE g.id = k.generation_id);
