import type { JsonFile, JsonObjectNode } from "@stackwright/lang";
import type { TextEdit } from "vscode-languageserver-protocol";
import { Lines } from "../document/locate.ts";

/** The edits that add a `moved` block to a file in JSON syntax, beside those that it has. */
export function jsonMoved({ source, root }: JsonFile, from: string, to: string): TextEdit[] {
  const elements = root.kind === "array" ? root.elements : [root];
  const object = elements.find((element) => element.kind === "object");
  if (object === undefined) return [];
  const lines = new Lines(source.text);
  const insert = (at: number, newText: string): TextEdit => ({
    range: lines.range({ start: at, end: at }),
    newText,
  });
  const written = `{ "from": ${JSON.stringify(from)}, "to": ${JSON.stringify(to)} }`;
  const present = object.members.find(({ name }) => name.value === "moved")?.value;
  if (present?.kind === "array") {
    const last = present.elements.at(-1);
    return [insert(last?.end ?? present.start + 1, last === undefined ? written : `, ${written}`)];
  }
  if (present?.kind === "object") {
    return [insert(present.start, "["), insert(present.end, `, ${written}]`)];
  }
  return [added(object, source.text, `"moved": [${written}]`, insert)];
}

/** A member behind the others, on a line of its own where the first one has one. */
function added(
  { start, members }: JsonObjectNode,
  text: string,
  member: string,
  insert: (at: number, newText: string) => TextEdit,
): TextEdit {
  const [first] = members;
  const last = members.at(-1);
  if (first === undefined || last === undefined) return insert(start + 1, member);
  const gap = text.slice(start + 1, first.name.start);
  return insert(last.value.end, `,${gap === "" ? " " : gap}${member}`);
}
