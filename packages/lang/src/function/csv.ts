import { Type, Value } from "@stackwright/cty";
import { invalidArgument } from "./parameter.ts";

/**
 * Rows of RFC 4180: fields separated by commas, in quotes where they hold commas, quotes (doubled)
 * or line endings. Empty lines are no rows.
 */
function readRows(text: string): string[][] {
  const rows: string[][] = [];
  let at = 0;
  while (at < text.length) {
    const blank = /\r?\n/y;
    blank.lastIndex = at;
    const skipped = blank.exec(text);
    if (skipped !== null) {
      at = blank.lastIndex;
      continue;
    }
    const row: string[] = [];
    for (;;) {
      const field = readField(text, at, rows.length + 1);
      row.push(field.value);
      at = field.end;
      if (text[at] !== ",") break;
      at++;
    }
    const end = /\r?\n|$/y;
    end.lastIndex = at;
    at += end.exec(text)?.[0].length ?? 0;
    rows.push(row);
  }
  return rows;
}

function readField(text: string, start: number, row: number): { value: string; end: number } {
  if (text[start] !== '"') {
    const plain = /[^,\n]*/y;
    plain.lastIndex = start;
    const found = plain.exec(text)?.[0] ?? "";
    const last = text[start + found.length] !== "," && found.endsWith("\r");
    const value = last ? found.slice(0, -1) : found;
    if (value.includes('"'))
      invalidArgument(`parse error on record ${row}: bare " in non-quoted field`);
    return { value, end: start + value.length };
  }
  const quoted = /"((?:[^"]|"")*)"/y;
  quoted.lastIndex = start;
  const match = quoted.exec(text);
  if (match === null)
    return invalidArgument(`parse error on record ${row}: a quote is never closed`);
  const end = quoted.lastIndex;
  if (end < text.length && !/^(?:,|\r?\n)/.test(text.slice(end, end + 2))) {
    invalidArgument(`parse error on record ${row}: extraneous or missing " in quoted field`);
  }
  return { value: (match[1] ?? "").replaceAll('""', '"').replaceAll("\r\n", "\n"), end };
}

/** A list of objects; the first row names the attributes. */
export function decodeCsv(text: string): Value {
  const [header, ...rows] = readRows(text);
  if (header === undefined) return invalidArgument("missing header line");
  const repeated = header.find((name, position) => header.indexOf(name) !== position);
  if (repeated !== undefined) invalidArgument(`duplicate column name ${JSON.stringify(repeated)}`);
  const type = Type.object(header.map((name) => [name, Type.string] as const));
  const objects = rows.map((row, index) => {
    if (row.length !== header.length) {
      invalidArgument(`record on line ${index + 2}: wrong number of fields`);
    }
    return Value.object(
      header.map((name, position) => [name, Value.string(row[position] ?? "")] as const),
    );
  });
  return Value.list(objects, type);
}
