import type { Style, Tone } from "../terminal/style.ts";

/** What happens to a line of a shown value. A blank means that nothing does. */
export type Sign = "+" | "-" | "~" | " " | "-/+" | "+/-" | "<=" | ".";

const TONES: Readonly<Partial<Record<Sign, Tone>>> = {
  "+": "create",
  "-": "delete",
  "~": "update",
  "<=": "read",
};

/** The sign in its colors; both halves of a replacement have different ones. */
export function paintSign(sign: Sign, style: Style): string {
  switch (sign) {
    case "-/+":
      return `${style.paint("delete", "-")}/${style.paint("create", "+")}`;
    case "+/-":
      return `${style.paint("create", "+")}/${style.paint("delete", "-")}`;
    case "+":
    case "-":
    case "~":
    case "<=":
    case " ":
    case ".":
    default: {
      const tone = TONES[sign];
      return tone === undefined ? sign : style.paint(tone, sign);
    }
  }
}
