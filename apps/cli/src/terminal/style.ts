/** What a piece of text means; the terminal decides what it looks like. */
export type Tone =
  | "strong"
  | "quiet"
  | "create"
  | "update"
  | "delete"
  | "read"
  | "error"
  | "warning"
  | "success";

/** Puts a tone on a text. */
export interface Style {
  readonly color: boolean;
  paint(tone: Tone, text: string): string;
}

const CODES: Readonly<Record<Tone, string>> = {
  strong: "1",
  quiet: "90",
  create: "32",
  update: "33",
  delete: "31",
  read: "36",
  error: "31",
  warning: "33",
  success: "32",
};

/** ANSI colors, or plain text. */
export function createStyle(color: boolean): Style {
  return {
    color,
    paint: (tone, text) => (color && text !== "" ? `\u001b[${CODES[tone]}m${text}\u001b[0m` : text),
  };
}
