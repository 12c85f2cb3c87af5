import { describe, expect, it } from "vitest";
import type {
  CallHierarchyIncomingCall,
  CallHierarchyItem,
  CallHierarchyOutgoingCall,
  CodeLens,
  Location,
  Position,
  Range,
  TextEdit,
} from "vscode-languageserver-protocol";
import { TestClient } from "../testing/test-client.ts";
import { BytePositions, chosenEncoding } from "./position-encoding.ts";

const BYTES = {
  general: { positionEncodings: ["utf-8", "utf-16"] },
  experimental: { showReferencesCommandId: "show" },
};

/** A client that counts in bytes, which asks about the first file. */
async function begin(texts: Readonly<Record<string, string>>): Promise<TestClient> {
  const marked = Object.entries(texts).map(([path, text], at) => [
    path,
    at === 0 ? `|${text}` : text,
  ]);
  const all = Object.fromEntries(marked) as Readonly<Record<string, string>>;
  return TestClient.start(all, {}, {}, {}, undefined, BYTES);
}

/** The place of a text in another one, in bytes. */
function placeOf(text: string, part: string): Position {
  const before = text.slice(0, text.indexOf(part)).split("\n");
  return { line: before.length - 1, character: Buffer.byteLength(before.at(-1) ?? "") };
}

/** What a range in bytes of one line is about. */
function written(text: string, { start: from, end }: Range): string {
  const line = Buffer.from(text.split("\n")[from.line] ?? "");
  return line.subarray(from.character, end.character).toString();
}

const TEXT =
  'locals {\n  "é" = 1\n  naïve = 1\n}\noutput "o" {\n  value = "😀é ${local.naïve} ${upper("ö")} ${local.absent}"\n}\n';

describe("the encoding of positions", () => {
  it.each([
    [undefined, "utf-16"],
    [[], "utf-16"],
    [["utf-32"], "utf-16"],
    [["utf-16", "utf-8"], "utf-16"],
    [["utf-32", "utf-8", "utf-16"], "utf-8"],
  ])("of a client that offers %s is %s", (offered, expected) => {
    expect(chosenEncoding(offered)).toBe(expected);
  });

  it("is the same anywhere in a long line", () => {
    const line = `${"a".repeat(255)}😀${"é😀x".repeat(300)}`;
    const bytes = new BytePositions(() => line);
    const ends: number[] = [];
    for (const sign of line) ends.push((ends.at(-1) ?? 0) + sign.length);
    const counted = ends.map((character) => {
      const { position } = bytes.sent({ position: { line: 0, character } }, "a");
      const back = bytes.received({ uri: "a", position }).position.character;
      return [position.character, back];
    });
    expect(counted).toEqual(ends.map((end) => [Buffer.byteLength(line.slice(0, end)), end]));
  });

  it("rounds down within a character, and ends with the line", () => {
    const bytes = new BytePositions(() => "é😀\r\nx");
    const units = (character: number): number =>
      bytes.received({ uri: "a", position: { line: 0, character } }).position.character;
    expect([0, 1, 2, 3, 5, 6, 99].map(units)).toEqual([0, 0, 1, 1, 1, 3, 3]);
  });

  it("holds for places that are asked about and that are answered", async () => {
    const other = 'output "ä" { value = [null, "😀😀😀", local.naïve] }\n';
    await using client = await begin({ "main.tf": TEXT, "other.tf": other });
    const position = placeOf(TEXT, "ïve}");
    const definitions = await client.at<Location[]>("textDocument/definition", { position });
    expect(definitions.map(({ range }) => written(TEXT, range))).toEqual(["naïve"]);
    const { changes } = await client.at<{ changes: Record<string, TextEdit[]> }>(
      "textDocument/rename",
      { position, newName: "b" },
    );
    expect(changes[client.uri("main.tf")]?.map(({ range }) => written(TEXT, range))).toEqual([
      "naïve",
      "naïve",
    ]);
    expect(changes[client.uri("other.tf")]?.map(({ range }) => written(other, range))).toEqual([
      "naïve",
    ]);
    const found = await client.at<{ range: Range }>("textDocument/hover", {
      position: placeOf(TEXT, "pper"),
    });
    expect(written(TEXT, found.range)).toBe("upper");
  });

  it("holds for problems", async () => {
    await using client = await begin({ "main.tf": TEXT });
    await expect
      .poll(() => client.problems.get("main.tf")?.map(({ range }) => written(TEXT, range)))
      .toContain("local.absent");
    const { items } = await client.at<{ items: { range: Range }[] }>("textDocument/diagnostic");
    expect(items.map(({ range }) => written(TEXT, range))).toContain("local.absent");
  });

  it("holds for tokens", async () => {
    await using client = await begin({ "main.tf": TEXT });
    const { data } = await client.at<{ data: number[] }>("textDocument/semanticTokens/full");
    const found: string[] = [];
    let place = { line: 0, character: 0 };
    for (let at = 0; at < data.length; at += 5) {
      const [down = 0, right = 0, length = 0] = data.slice(at, at + 3);
      place = {
        line: place.line + down,
        character: down === 0 ? place.character + right : right,
      };
      const end = { ...place, character: place.character + length };
      found.push(written(TEXT, { start: place, end }));
    }
    expect(found).toEqual(
      expect.arrayContaining(["naïve", "😀é ", "local", "upper", "ö", "absent", "output"]),
    );
  });

  it("holds for changes, each in the text that those before it have left", async () => {
    await using client = await begin({ "main.tf": TEXT });
    const { line, character } = placeOf(TEXT, "ïve}");
    const range = (from: number, to: number): Range => ({
      start: { line, character: from },
      end: { line, character: to },
    });
    const emoji = placeOf(TEXT, "😀").character;
    await client.connection.sendNotification("textDocument/didChange", {
      textDocument: { uri: client.uri("main.tf"), version: 2 },
      contentChanges: [
        { range: range(emoji, emoji + 4), text: "ü" },
        { range: range(character - 4, character - 4 + Buffer.byteLength("naïve")), text: "ö" },
      ],
    });
    const text = TEXT.replace("😀", "ü").replace("${local.naïve}", "${local.ö}");
    const [start, end] = [placeOf(text, "${local.ö}"), placeOf(text, "} ${upper")];
    const found = await client.at<{ range: Range }[]>("textDocument/documentHighlight", {
      position: { line, character: end.character },
    });
    expect(found.map(({ range: each }) => written(text, each))).toEqual(["ö"]);
    await client.connection.sendNotification("textDocument/didChange", {
      textDocument: { uri: client.uri("main.tf"), version: 3 },
      contentChanges: [{ range: { start, end }, text: "${local.naïve" }],
    });
    const again = await client.at<{ range: Range }[]>("textDocument/documentHighlight", {
      position: { line, character: start.character + "${local.n".length },
    });
    expect(again.map(({ range: each }) => written(TEXT.replace("😀", "ü"), each))).toEqual([
      "naïve",
      "naïve",
    ]);
  });

  it("holds for calls, whose places are in the file that calls", async () => {
    const call = '/* é */ module "net" {\n  source = "./net"\n}\n';
    await using client = await begin({ "main.tf": call, "net/main.tf": "# n\n" });
    const [own] = await client.at<CallHierarchyItem[]>("textDocument/prepareCallHierarchy", {
      textDocument: { uri: client.uri("net/main.tf") },
      position: { line: 0, character: 0 },
    });
    const incoming = await client.connection.sendRequest<CallHierarchyIncomingCall[]>(
      "callHierarchy/incomingCalls",
      { item: own },
    );
    const ranges = incoming.flatMap(({ fromRanges }) => fromRanges);
    expect(ranges.map((range) => written(call, range))).toEqual(['module "net"']);
    const [from] = incoming.map((each) => each.from);
    const outgoing = await client.connection.sendRequest<CallHierarchyOutgoingCall[]>(
      "callHierarchy/outgoingCalls",
      { item: from },
    );
    const places = outgoing.flatMap(({ fromRanges }) => fromRanges);
    expect(places.map((range) => written(call, range))).toEqual(['module "net"']);
  });

  it("holds for lenses, which come back", async () => {
    const text = '/* ééééé */ variable "a" {}\noutput "o" { value = var.a }\n';
    await using client = await begin({ "main.tf": text });
    const [lens] = await client.at<CodeLens[]>("textDocument/codeLens");
    expect(lens && written(text, lens.range)).toBe("a");
    const resolved = await client.connection.sendRequest<CodeLens>("codeLens/resolve", lens);
    expect(resolved.command).toMatchObject({
      title: "1 reference",
      arguments: [placeOf(text, 'a" {'), {}],
    });
  });
});
