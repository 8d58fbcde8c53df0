-- What a plan costs: a price of the payment provider.
ALTER TABLE plans ADD COLUMN price text;
