import { expect, it } from "vitest";
import { printable } from "./printable.ts";

it.each([
  ["a\u001b[31mb", "a\\u001b[31mb"],
  ["a\r\nb\tc", "a\\u000d\\u000ab\tc"],
  ["a\u202eb\u2066c\u200fd", "a\\u202eb\\u2066c\\u200fd"],
  ["عربي, 日本, é", "عربي, 日本, é"],
])(
  "characters that control the terminal or the order of others are shown by their codes: %j",
  (text, shown) => {
    expect(printable(text)).toBe(shown);
  },
);
