import { spaceBetween } from "./format-spacing.ts";
import { bracketBalance, columns, endsLine, type FormatToken } from "./format-token.ts";
import { TokenKind } from "./token.ts";

/**
 * A line in up to three cells. In runs of neighbouring lines that have one, the second and the
 * third cell are aligned: equals signs below each other, comments below each other.
 */
interface Line {
  /** Everything that is in no other cell. */
  lead: FormatToken[];
  /** From the equals sign on, where the line holds a whole assignment. */
  assign: FormatToken[];
  /** A comment behind other tokens that ends the line. */
  comment: FormatToken[];
}

/** Sets the spaces in front of all tokens. Nothing but white space changes. */
export function layOut(tokens: readonly FormatToken[]): void {
  const lines = splitLines(tokens);
  indent(lines);
  for (const line of lines) {
    spaceCell(line.lead);
    const [equals] = line.assign;
    if (equals !== undefined) equals.spaces = 1;
    spaceCell(line.assign);
  }
  align(
    lines,
    (line) => line.assign[0],
    (line) => columns(line.lead),
  );
  align(
    lines,
    (line) => line.comment[0],
    (line) => columns(line.lead) + columns(line.assign),
  );
}

function splitLines(tokens: readonly FormatToken[]): Line[] {
  const lines: Line[] = [];
  let current: FormatToken[] = [];
  for (const token of tokens) {
    if (token.kind === TokenKind.EndOfFile) break;
    current.push(token);
    if (endsLine(token)) {
      lines.push(cells(current));
      current = [];
    }
  }
  if (current.length > 0) lines.push(cells(current));
  return lines;
}

function cells(tokens: FormatToken[]): Line {
  let lead = tokens;
  let comment: FormatToken[] = [];
  if (lead.length > 1 && lead.at(-1)?.kind === TokenKind.Comment) {
    comment = lead.slice(-1);
    lead = lead.slice(0, -1);
  }
  const equals = lead.findIndex((token, index) => index > 0 && token.kind === TokenKind.Assign);
  if (equals === -1) return { lead, assign: [], comment };
  const assign = lead.slice(equals);
  // A value that continues on the next lines is not aligned.
  if (assign.reduce((sum, token) => sum + bracketBalance(token), 0) !== 0) {
    return { lead, assign: [], comment };
  }
  return { lead: lead.slice(0, equals), assign, comment };
}

/**
 * Indents lines by the brackets open at their beginning, one level per line that opened more than
 * it closed, however many these were. `open` holds how many each of these lines left open.
 */
function indent(lines: readonly Line[]): void {
  const open: number[] = [];
  for (const line of lines) {
    const [first] = line.lead;
    if (first === undefined) continue;
    if (first.kind === TokenKind.Newline) {
      first.spaces = 0;
      continue;
    }
    const net = netBrackets(line);
    if (net > 0) {
      first.spaces = 2 * open.length;
      open.push(net);
      continue;
    }
    let closing = -net;
    while (closing > 0 && open.length > 0) {
      const last = open.pop() ?? 0;
      if (closing < last) open.push(last - closing);
      closing = Math.max(0, closing - last);
    }
    first.spaces = 2 * open.length;
  }
}

function netBrackets(line: Line): number {
  let net = 0;
  for (const token of line.lead) {
    net += bracketBalance(token);
    // What stands inside of a heredoc does not indent what comes after it.
    if (token.kind === TokenKind.HeredocOpen) break;
  }
  for (const token of line.assign) net += bracketBalance(token);
  return net;
}

function spaceCell(cell: readonly FormatToken[]): void {
  for (let index = 1; index < cell.length; index++) {
    const left = cell[index - 1];
    const right = cell[index];
    if (left === undefined || right === undefined) continue;
    right.spaces = spaceBetween(cell[index - 2], left, right) ? 1 : 0;
  }
}

/** Aligns the given token in each run of neighbouring lines that have it. */
function align(
  lines: readonly Line[],
  pick: (line: Line) => FormatToken | undefined,
  widthBefore: (line: Line) => number,
): void {
  let run: { token: FormatToken; width: number }[] = [];
  const close = (): void => {
    const widest = run.reduce((most, { width }) => Math.max(most, width), 0);
    for (const { token, width } of run) token.spaces = widest - width + 1;
    run = [];
  };
  for (const line of lines) {
    const token = pick(line);
    if (token === undefined) close();
    else run.push({ token, width: widthBefore(line) });
  }
  close();
}
