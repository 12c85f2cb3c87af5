import type { PolicyVerdict } from "@stackwright/client";
import { printable } from "../terminal/printable.ts";
import type { Style } from "../terminal/style.ts";

/** The lines of what a policy set said about a plan, behind what it judged. */
export function verdictLines(
  what: string,
  { outcome, findings, cut, error }: PolicyVerdict,
  style: Style,
): readonly string[] {
  const tone = outcome === "passed" ? "success" : "error";
  const why = error === undefined ? "" : `: ${printable(error)}`;
  return [
    `${what}: ${style.paint(tone, outcome)}${why}`,
    ...findings.map(({ message, address, warning }) => {
      const place = address === undefined ? "" : ` (${printable(address)})`;
      return `  ${warning ? "warning: " : ""}${printable(message)}${place}`;
    }),
    ...(cut > 0 ? [`  and ${cut} more`] : []),
  ];
}
