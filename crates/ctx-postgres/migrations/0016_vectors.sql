-- How much a statement reads is told by what is stored: terms that are alike would come as many times that.
ALTER TABLE ctx.files ALTER COLUMN terms SET STORAGE EXTERNAL;
