import { describe, expect, it } from "vitest";
import { eventLines, textLines } from "./run-lines.ts";

const AT = Date.UTC(2026, 10, 28);
const parsed = (lines: string): Record<string, unknown> =>
  JSON.parse(lines) as Record<string, unknown>;

describe("lines of events", () => {
  it("have the form of the command's own, with the time of the event", () => {
    const event = { seq: 1, at: AT, type: "step-end", address: "a.b", deposed: "", id: "7" };
    const line = eventLines({ ...event, action: "create", status: "done", elapsedMs: 1_600 });
    expect(parsed(line)).toMatchObject({
      "@level": "info",
      "@message": "a.b: Creation complete after 2s [id=7]",
      "@module": "stackwright.ui",
      "@timestamp": "2026-11-28T00:00:00.000Z",
      type: "apply_complete",
      hook: { resource: { addr: "a.b" }, action: "create", elapsed_seconds: 2, id_value: "7" },
    });
    expect(line.endsWith("}\n")).toBe(true);
  });

  it("have the words of the command's text for data sources", () => {
    const of = (type: string) =>
      parsed(eventLines({ seq: 1, at: AT, type, address: "data.a.b", elapsedMs: 900 }))["@message"];
    expect(of("read-start")).toBe("data.a.b: Reading...");
    expect(of("read-end")).toBe("data.a.b: Read complete after 1s");
  });

  it("have the words of the command's text for ephemeral objects, imports and deposed objects", () => {
    const of = (type: string, more: object) =>
      parsed(eventLines({ seq: 1, at: AT, type, address: "a.b", elapsedMs: 900, ...more }))[
        "@message"
      ];
    expect(of("ephemeral", { step: "open", status: "start" })).toBe("a.b: Opening...");
    expect(of("ephemeral", { step: "close", status: "done" })).toBe(
      "a.b: Closing complete after 1s",
    );
    const importing = { action: "import", id: "7" };
    expect(of("step-start", importing)).toBe("a.b: Importing... [id=7]");
    expect(of("step-end", { ...importing, status: "done" })).toBe("a.b: Import complete [id=7]");
    const deposed = { action: "delete", deposed: "0a1b2c3d" };
    expect(of("step-start", { ...deposed, id: "7" })).toBe(
      "a.b (deposed object 0a1b2c3d): Destroying... [id=7]",
    );
    expect(of("step-end", { ...deposed, status: "done" })).toBe(
      "a.b: Destruction complete after 1s",
    );
  });

  it("are none of what is no longer managed, unless that fails", () => {
    const event = { seq: 1, at: AT, address: "a.b", action: "forget", elapsedMs: 1 };
    expect(eventLines({ ...event, type: "step-start" })).toBe("");
    expect(eventLines({ ...event, type: "step-end", status: "done" })).toBe("");
    expect(eventLines({ ...event, type: "step-end", status: "failed" })).not.toBe("");
  });

  it("leave out what was stored without its members", () => {
    for (const type of ["read-start", "step-end", "provision-output"]) {
      expect(eventLines({ seq: 1, at: AT, type, cut: true })).toBe("");
    }
  });

  it("are text where there is no such form", () => {
    expect(eventLines({ seq: 1, at: AT, type: "log", line: "scanned 3 files" })).toBe(
      "scanned 3 files\n",
    );
    expect(eventLines({ seq: 1, at: AT, type: "truncated" })).toMatch(
      /^The log of the run is full/,
    );
    expect(eventLines({ seq: 1, at: AT, type: "approval", actor: "ann" })).toBe("");
  });
});

it("text that commands would read as a line of their own is the message of one", () => {
  const text = textLines('one\n{"type":"provision_progress"}\n null\n[1]\n\n', AT);
  const lines = text.slice(0, -1).split("\n");
  expect(lines.map((line) => (line.startsWith("{") ? parsed(line)["@message"] : line))).toEqual([
    "one",
    '{"type":"provision_progress"}',
    " null",
    "[1]",
    "",
  ]);
});

describe("lines of diagnostics", () => {
  const base = { seq: 1, at: AT, type: "diagnostic", severity: "error", summary: "s", detail: "d" };
  const diagnosticOf = (more: object) =>
    parsed(eventLines({ ...base, ...more }))["diagnostic"] as Record<string, unknown>;
  const snippet = {
    context: 'resource "a" "b"',
    code: "  lifecycle {\n    x = yy",
    start_line: 3,
    highlight_start_offset: 22,
    highlight_end_offset: 24,
    values: [],
  };
  const position = (line: number) => ({ line, column: 1, byte: 0 });
  const range = { filename: "main.tf", start: position(4), end: position(4) };

  it("have the source from the line of the problem on", () => {
    expect(diagnosticOf({ address: "a.b", file: "main.tf", line: 4, range, snippet })).toEqual({
      severity: "error",
      summary: "s",
      detail: "d",
      address: "a.b",
      range,
      snippet: {
        ...snippet,
        code: "    x = yy",
        start_line: 4,
        highlight_start_offset: 8,
        highlight_end_offset: 10,
      },
    });
  });

  it("mark nothing behind the end of a text that a secret was taken out of", () => {
    const cut = { ...snippet, code: "  l" };
    expect(diagnosticOf({ range, line: 3, snippet: cut })["snippet"]).toMatchObject({
      code: "  l",
      highlight_start_offset: 3,
      highlight_end_offset: 3,
    });
  });

  it("name the function that was called with its parameters, as commands read them", () => {
    const described = {
      called_as: "core::join",
      signature: {
        name: "join",
        params: [{ name: "separator", type: "string" }],
        variadic_param: { name: "lists", type: ["list", "string"] },
        return_type: "string",
      },
    };
    const now = { range, line: 3, snippet: { ...snippet, function_call: described } };
    expect(diagnosticOf(now)["snippet"]).toMatchObject({ function_call: described });
    const broken = { ...described, signature: { name: "join" } };
    expect(
      diagnosticOf({ ...now, snippet: { ...snippet, function_call: broken } })["snippet"],
    ).not.toHaveProperty("function_call");
    // Those of an earlier release have it as text.
    const callOf = (name: string, signature: string) =>
      diagnosticOf({
        range,
        line: 3,
        snippet: { ...snippet, function_call: { name, signature } },
      })["snippet"];
    const parameter = (name: string) => ({ name, type: "dynamic" });
    expect(callOf("substr", "substr(str, offset)")).toMatchObject({
      function_call: {
        called_as: "substr",
        signature: { name: "substr", params: [parameter("str"), parameter("offset")] },
      },
    });
    expect(callOf("range", "range(params...)")).toMatchObject({
      function_call: { signature: { params: [], variadic_param: parameter("params") } },
    });
    expect(callOf("timestamp", "timestamp()")).toMatchObject({
      function_call: { signature: { params: [] } },
    });
    // Of one that is stored in another form nothing is said: commands would print the line as it is.
    expect(callOf("range", "cut")).not.toHaveProperty("function_call");
  });

  it("have the place alone where an earlier release stored them", () => {
    const { range: found, snippet: none } = diagnosticOf({ file: "main.tf", line: 7 });
    expect(found).toMatchObject({ filename: "main.tf", start: { line: 7, column: 1 } });
    expect(none).toBeUndefined();
  });

  it("name resources, and nothing else, as the object of a problem", () => {
    expect(diagnosticOf({ address: "a.b" })["address"]).toBe("a.b");
    expect(diagnosticOf({ address: "check.c" })["address"]).toBeUndefined();
  });

  it("are none for the block that led the command here", () => {
    const detail = 'The block "cloud" has no effect here.';
    expect(eventLines({ ...base, summary: "Block has no effect", detail })).toBe("");
  });
});
