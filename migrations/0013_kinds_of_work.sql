-- What tells kinds of work apart for a claim.

-- Where backends differ, besides in models and samplers: 1: a seed above 2^31 - 1; 2: sizes in multiples of 8 only, 4: of 16
-- or of 8 only; 8: a cfg_scale above 20.
CREATE FUNCTION generation_needs(
  seed bigint, batch_size integer, width integer, height integer, cfg_scale double precision
) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (
  CASE WHEN seed + batch_size - 1 > 2147483647 THEN 1 ELSE 0 END
  + CASE WHEN width % 16 > 0 OR height % 16 > 0 THEN 2 ELSE 0 END
  + CASE WHEN width % 64 > 0 OR height % 64 > 0 THEN 4 ELSE 0 END
  + CASE WHEN cfg_scale > 20 THEN 8 ELSE 0 END)::smallint;
--> statement-breakpoint
-- The largest that the backend takes; null: any.
ALTER TABLE backends ADD COLUMN max_cfg_scale double precision;
