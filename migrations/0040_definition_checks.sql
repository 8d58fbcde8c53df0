-- What each backend lacks for the definitions that it cannot draw with, a list of sentences by definition; and when an import
-- last asked whether backends can draw with a definition, which workers then look at although no version has it yet.
ALTER TABLE backends ADD COLUMN lacks jsonb;
ALTER TABLE model_definitions ADD COLUMN asked_at timestamptz;
