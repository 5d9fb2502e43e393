"""The files of deploy/, each checked by the program that reads it."""
