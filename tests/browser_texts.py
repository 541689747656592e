"""Texts that both editions read, for tests of the browser edition."""

from __future__ import annotations

from pathlib import Path

from dptext_core.measure.detection import read_marked

TEXTS = (
    "My doctor in Lisbon treated my sister for a broken leg.",
    "Mrs. O'Neil paid $3.50 (twice!) at 10,000 Main St. on Jan. 5th… I can't say what it's for 🙂🙂.",
    "He said: \"Don’t — I won't go.\"\n\nThe U.S. team's e-mail is a.b@c.org; see http://x.y/z?q=1.",
    "Ünïcode naïve café ½ 日本語 zzqx 👩‍👩‍👧 rock ’n’ roll.",
    "",
    "the and of , .",
    # What nobody sees, and letters written as symbols.
    "Ⓜⓐⓡⓘⓐ\U000e0041 saw 🅹🅾🅷🅽,\u200b ⒨⒜⒭⒤⒜ and 🇲🇦\ufe0f.\u0301 ⠍⠁⠗⠊⠁\u2009①½² ☙ ‐‑ 👍🏽 \ue000\n \r\n\tof\u3164 \u2028",
    f"A word of {'x' * 150}, http://a.b/{'c' * 150} and {'-' * 150}",
)

#: With what identifies: names, places, dates, numbers and addresses.
TELLING = """Mrs Halvorsen and Dr. J. Peter von Berg saw Anna's son. Nora Lindqvist left. Ask Tom, please; Grace cried.
She is at St Olav's Hospital or 14 Mill Lane near Ashgrove, in New York, then Turkey. A nice reading, a cold turkey.
The 12th of March 2024, 2024-03-12, 3/12/24, Jan. 5th, May 1987; May I? In 1990, since the autumn 1991, on Mondays, sat.
Forty-two, room B12, £3,500, +47 555 12 345, (030) 123 4567, a.b@example.org, www.example.org/x, https://x.y/z.
Bill phoned. Will you? Don met Will in the US with Can; Call five, one and two: double oh 7! I had one. 5 may.
A TEST A. Dear will, i am may: W I L L. At half past one in room six; THe first of May, third may, one-oh-two."""

NOTES = [
    note.text
    for note in read_marked(
        (Path(__file__).parent / "detectors" / "notes.txt").read_text(encoding="utf-8").splitlines()
    )
]
#: Numbers and addresses of unusual shapes, marks of all kinds, and what searches may try for long.
HOSTILE = [
    *TEXTS,
    TELLING,
    "AB1234567 7xyz 3kg 67-year-old 9,999 12/03/1985 1985-3-12 12.3.85 1/2/85 ²³ Ⅻ Ab9é ١٢ ４５ 99‑year‑old",
    "On the 1st of May, 2ND March and 31th; the third of June.",
    '(Anna) “Omar Haddad” said: "Julia\n\tBrandt" left [Lisbon Street]  ,  Meadow Lane\n\nNew York \'s. 3 June 2021!',
    "Mrs Halvorsen's son, DR. O'NEIL, may 5, May 5th, in the 1990, since autumn 1991; Bill's bill. J. K. Berg #4.",
    "a" * 300 + "@" + "b." * 200 + "c, " + "www." + "x" * 400 + " +49 " + "1 " * 40 + "2024-03-12/13 19 20 2001-2004",
    "Anna\u200b Be\u0301rg 👩‍👩‍👧 İstanbul ſeven K. Kelvin\u212a mAY İ@b.org HTTPS://ſ.org/x. 日本  Ⓐⓝⓐ ''Tom''.",
    "",
    "   ",
]
