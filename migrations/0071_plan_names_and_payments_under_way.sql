-- Whether the money of a payment is on its way, as that of a bank debit is for days: its account is told so until it is there.
ALTER TABLE payments ADD COLUMN is_pending boolean NOT NULL DEFAULT false;
--> statement-breakpoint
-- Names of plans are looked up as toPlanName() writes them: an older one that has blanks around it, or letters that are composed another
-- way, could neither be imported again nor be given to anybody. Where two would become one, both stay.
WITH written AS (
  SELECT name AS old, CASE WHEN name ~ '^[ -~]*$' THEN btrim(name) ELSE normalize(btrim(name, E' \t\n\r\u00a0'), NFC) END AS new FROM plans
), renamed AS (
  SELECT min(old) AS old, new FROM written GROUP BY new HAVING count(*) = 1 AND min(old) <> new AND new <> ''
), of_subscriptions AS (
  UPDATE subscriptions SET plan = coalesce((SELECT new FROM renamed WHERE old = plan), plan),
      period_plan = coalesce((SELECT new FROM renamed WHERE old = period_plan), period_plan)
   WHERE plan IN (SELECT old FROM renamed) OR period_plan IN (SELECT old FROM renamed)
), of_paid_subscriptions AS (
  UPDATE paid_subscriptions SET plan = new FROM renamed WHERE plan = old
)
UPDATE plans SET name = new FROM renamed WHERE name = old;
