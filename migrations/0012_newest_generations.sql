-- What an operator lists, of all users together and newest first: of each status apart. An index over all of them would
-- also be taken for one user's, by a planner that expects to meet them soon, and then read through everybody else's.

CREATE INDEX generations_newest_succeeded ON generations (seq) WHERE status = 'succeeded';
--> statement-breakpoint
-- The two that pass have such indexes: generations_queue, of a queue that is sorted at once, and generations_processing.
CREATE INDEX generations_newest_failed ON generations (seq) WHERE status = 'failed';
