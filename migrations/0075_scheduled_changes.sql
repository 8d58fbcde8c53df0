-- What a paid subscription changes to, and when, as scheduled at the payment provider: its account is told so before.
ALTER TABLE paid_subscriptions ADD COLUMN next_price text;
--> statement-breakpoint
ALTER TABLE paid_subscriptions ADD COLUMN next_at timestamptz;
