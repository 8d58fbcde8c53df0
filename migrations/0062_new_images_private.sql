-- Accounts whose images of the website are private from the start. Their files are stored like all others, then moved.
ALTER TABLE users ADD COLUMN new_images_private boolean NOT NULL DEFAULT false;
--> statement-breakpoint
CREATE OR REPLACE TRIGGER images_move_new AFTER INSERT ON images FOR EACH ROW
  WHEN (NEW.private) EXECUTE FUNCTION note_image_move();
