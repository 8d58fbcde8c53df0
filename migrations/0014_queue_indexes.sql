-- no-transaction
-- What keeps submits and claims fast however much waits. Its condition is like no other index's: a planner with poor
-- statistics would take this one for theirs.
DROP INDEX CONCURRENTLY IF EXISTS generations_deadline;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS generations_deadline ON generations (deadline_at) WHERE finished_at IS NULL;
--> statement-breakpoint
-- Each kind of work that waits begins at one place, however much of it there is. With the deadline, so that what is
-- overdue is passed over within the index. Only the claim asks for what is queued in these words: nothing else takes this
-- index, and a planner that believes the queue to be empty takes no other one for the claim.
CREATE INDEX CONCURRENTLY IF NOT EXISTS generations_queue_of_kind ON generations (
  lane, filename, sampler, generation_needs(seed, batch_size, width, height, cfg_scale), seq, deadline_at)
  WHERE status NOT IN ('processing', 'succeeded', 'failed') AND error IS NULL;
--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS generations_queue_of_model;
