"""Patches taken apart: files, hunks and their lines, and what is left out."""

from __future__ import annotations

from testbed.labs.virtual.own_source import export, patch_text
from testbed.labs.virtual.own_source.patch_text import Hunk, file_patches, names, without

MAIL = b"""From 1a2b Mon Sep 17 00:00:00 2001
Subject: [PATCH] sctp: two files

--- a line of the message that looks like a header
---
 Documentation/net/x.rst | 1 +
 net/a.c | 4 ++--

diff --git a/Documentation/net/x.rst b/Documentation/net/x.rst
index 1..2 100644
--- a/Documentation/net/x.rst
+++ b/Documentation/net/x.rst
@@ -1 +1,2 @@
 one
+two
diff --git a/net/a.c b/net/a.c
index 1..2 100644
--- a/net/a.c
+++ b/net/a.c
@@ -10,3 +10,3 @@ int f(void)
 a
--- b
+++ c
 d
@@ -40,2 +40,2 @@
-x
+y
 z
diff --git a/old.c b/new.c
similarity index 100%
rename from old.c
rename to new.c
-- \n2.39.5
"""
PLAIN = b"""diff -ru linux/net/a.c mine/net/a.c
--- linux/net/a.c\t2026-01-01 00:00:00
+++ mine/net/a.c\t2026-01-02 00:00:00
@@ -3 +3 @@
-x
+y
--- linux/net/b.c\t2026-01-01 00:00:00
+++ mine/net/b.c\t2026-01-02 00:00:00
@@ -7,0 +8 @@
+y
"""


def test_a_mail_of_gits() -> None:
    doc, code, moved = file_patches(MAIL)
    assert (doc.path, code.path, moved.path) == ("Documentation/net/x.rst", "net/a.c", "new.c")
    assert doc.hunks == (Hunk(line=1, patch_line=13),)
    # The second line of the first hunk takes "-- b" away and is no header.
    assert [hunk.line for hunk in code.hunks] == [10, 40]
    assert (code.number_of(40), code.number_of(11)) == (2, 0)
    assert moved.hunks == ()
    assert names(MAIL) == ["Documentation/net/x.rst", "net/a.c", "old.c", "new.c"]


def test_what_diff_writes() -> None:
    first, second = file_patches(PLAIN)
    assert (first.path, second.path) == ("net/a.c", "net/b.c")
    assert second.hunks == (Hunk(line=7, patch_line=9),)
    assert names(PLAIN) == ["net/a.c", "net/b.c"]


def test_files_that_are_gone_or_new() -> None:
    gone = b"--- a/net/a.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    new = b"--- /dev/null\n+++ b/net/b.c\n@@ -0,0 +1 @@\n+x\n"
    assert [one.path for one in file_patches(gone + new)] == ["net/a.c", "net/b.c"]


def test_what_is_no_patch() -> None:
    for text in (
        b"",
        b"hello\n",
        b"@@ -1 +1 @@\n-x\n+y\n",
        b"\0" * 100,
        b"--- a\n",
        b"--- \n+++ \n",
    ):
        assert not [one for one in file_patches(text) if one.hunks], text


def test_a_patch_without_files_that_are_left_out() -> None:
    kept = without(MAIL, export.left_out)
    assert [one.path for one in file_patches(kept)] == ["net/a.c", "new.c"]
    assert without(PLAIN, export.left_out) == PLAIN
    assert without(MAIL, lambda _: True) == b""


def test_hunks_that_lie_about_their_length() -> None:
    text = b"--- a/x\n+++ b/x\n@@ -1,999999999 +1,999999999 @@\n-x\n+y\nend\n"
    (one,) = patch_text.file_patches(text)
    assert one.hunks == (Hunk(line=1, patch_line=3),)
