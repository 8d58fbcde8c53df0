-- The claim's turn as a sequence in place of the row of queue_turn: a claim held that row until its commit was on the disk, so
-- that claims waited for each other. A worker of the release before goes on with its row; each keeps the rule by itself.

-- Create Image starts since the last personal one.
CREATE SEQUENCE create_image_streak MINVALUE 0;
--> statement-breakpoint
SELECT setval('create_image_streak', 0);
