import { fromNative, Mark, type NativeInput, Type, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { bodyLines } from "../render/diff-lines.ts";
import { diffValues, type PairingOptions } from "./diff-values.ts";
import { showDiff } from "./show-diff.ts";

/** The difference as lines: depth as indentation, sign, text, note. */
function lines(before: Value, after: Value, options?: PairingOptions): string[] {
  return bodyLines(showDiff(diffValues(before, after, options))).map(
    ({ depth, sign, text, note }) =>
      `${"  ".repeat(depth)}${sign} ${[text, note && `# ${note}`].filter(Boolean).join(" ")}`,
  );
}

const native = (input: NativeInput): Value => fromNative(input);

const statement = (sid: string, resource: string, effect = "Allow"): Record<string, string> => ({
  Sid: sid,
  Effect: effect,
  Action: "s3:GetObject",
  Resource: resource,
});

describe("a list of statements", () => {
  it("shows two neighbouring changes as two changes", () => {
    const before = [
      statement("Read", "a"),
      statement("Write", "b"),
      statement("Deny", "c", "Deny"),
    ];
    const after = [statement("Read", "x"), statement("Write", "y"), statement("Deny", "c", "Deny")];
    expect(lines(native({ s: before }), native({ s: after }))).toEqual([
      "~ s = [",
      "  ~ {",
      '    ~ Resource = "a" -> "x"',
      '      Sid      = "Read"',
      "      # (2 unchanged attributes hidden)",
      "    },",
      "  ~ {",
      '    ~ Resource = "b" -> "y"',
      '      Sid      = "Write"',
      "      # (2 unchanged attributes hidden)",
      "    },",
      "    # (1 unchanged element hidden)",
      "  ]",
    ]);
  });

  it("shows a new element in front and the others as changed", () => {
    const before = { Statement: [statement("A", "a"), statement("B", "b")] };
    const after = { Statement: [statement("New", "n"), statement("A", "x"), statement("B", "y")] };
    const shown = lines(
      native({ policy: JSON.stringify(before) }),
      native({ policy: JSON.stringify(after) }),
    );
    expect(shown.filter((line) => /^ {6}[+~] \{/.test(line)).map((line) => line.trim())).toEqual([
      "+ {",
      "~ {",
      "~ {",
    ]);
    expect(shown).toContain('        ~ Resource = "a" -> "x"');
    expect(shown).toContain('        ~ Resource = "b" -> "y"');
  });

  it("is the same whatever the order of the actions of a policy is", () => {
    const policy = (actions: string[]) =>
      native({ policy: JSON.stringify({ Statement: [{ Sid: "a", Action: actions }] }) });
    const shown = lines(policy(["x", "y"]), policy(["y", "x"]));
    expect(shown.some((line) => line.includes("order only"))).toBe(true);
    expect(shown.some((line) => /^ *[+-] /.test(line))).toBe(false);
  });

  it("pairs an element that moved by its key", () => {
    const list = (...names: string[]) =>
      native({ env: names.map((name) => ({ name, value: name })) });
    expect(lines(list("A", "B", "C"), list("C", "A", "B"))).toContain(
      "    # (2 unchanged elements hidden)",
    );
    expect(lines(list("A", "B", "C"), list("C", "A", "B")).join("\n")).toContain(
      "moved from position 3",
    );
  });
});

describe("elements of a set", () => {
  it("are paired by what agrees", () => {
    const rule = (port: number, cidr: string, text: string) => ({
      port_from: port,
      port_to: port,
      cidr,
      text,
    });
    const set = (...rules: NativeInput[]) =>
      Value.object({ ingress: Value.set(rules.map((one) => native(one))) });
    expect(
      lines(
        set(rule(80, "10.0.0.0/8", "web"), rule(22, "10.1.0.0/16", "ssh")),
        set(rule(80, "10.0.0.0/8", "http"), rule(22, "10.1.0.0/16", "ssh")),
      ),
    ).toEqual([
      "~ ingress = [",
      "  ~ {",
      '    ~ text = "web" -> "http"',
      "      # (3 unchanged attributes hidden)",
      "    },",
      "    # (1 unchanged element hidden)",
      "  ]",
    ]);
  });
});

describe("parts that are not values yet or not for eyes", () => {
  it("shows what becomes unknown, and never hides what it was", () => {
    const before = native({ id: "i-1", list: ["a"] });
    const after = Value.object({
      id: Value.unknown(Type.string),
      list: Value.tuple([Value.unknown(Type.string)]),
    });
    const shown = lines(before, after);
    expect(shown).toContain('~ id   = "i-1" -> (known after apply)');
    expect(shown).toContain('  ~ "a" -> (known after apply),');
  });

  it("says of a secret only that it changes", () => {
    const secret = (text: string) =>
      Value.object({ a: Value.string(text).mark(Mark.sensitive), b: Value.string("b") });
    const diff = showDiff(diffValues(secret("hunter2"), secret("hunter3")));
    expect(JSON.stringify(diff)).not.toContain("hunter");
    expect(lines(secret("hunter2"), secret("hunter3"))).toEqual([
      "~ a = (sensitive value)",
      "  # (1 unchanged attribute hidden)",
    ]);
  });

  it("hides a value that is sensitive on one side alone", () => {
    const shown = lines(
      Value.object({ a: Value.string("old-secret").mark(Mark.sensitive) }),
      Value.object({ a: Value.string("now-public") }),
    );
    expect(shown).toEqual(["~ a = (sensitive value)"]);
  });
});

describe("texts", () => {
  it("compares lines", () => {
    const text = (middle: string) =>
      native({ script: ["a", "b", "c", "d", middle, "f", "g", "h", "i"].join("\n") });
    expect(lines(text("e"), text("E"))).toEqual([
      "~ script = <<-EOT",
      "    # (1 unchanged line hidden)",
      "    b",
      "    c",
      "    d",
      "  - e",
      "  + E",
      "    f",
      "    g",
      "    h",
      "    # (1 unchanged line hidden)",
      "  EOT",
    ]);
  });

  it("says that a document differs in its formatting alone", () => {
    const shown = lines(native({ p: '{"a": 1}' }), native({ p: '{"a":1}' }));
    expect(shown).toEqual(["~ p = jsonencode(...) # formatting only"]);
  });

  it("shows a document as text where a name is in it twice: readers disagree which of the two counts", () => {
    const shown = lines(native({ p: '{"a":1,"a":2}' }), native({ p: '{"a":3,"a":2}' }));
    expect(shown).toEqual([String.raw`~ p = "{\"a\":1,\"a\":2}" -> "{\"a\":3,\"a\":2}"`]);
  });

  it("writes control characters as symbols", () => {
    const shown = lines(native({ t: "a" }), native({ t: "\u001B[31mred\u202Ex" }));
    expect(shown).toEqual([String.raw`~ t = "a" -> "\u001b[31mred\u202ex"`]);
  });
});

describe("large lists", () => {
  it("pairs 300 changed elements with 300", () => {
    const list = (suffix: string) =>
      native({
        l: Array.from({ length: 300 }, (_, index) => ({
          label: `element ${index}`,
          tier: "a",
          text: `t${index}${suffix}`,
        })),
      });
    const diff = diffValues(list(""), list("x"));
    const items = diff.kind === "members" ? diff.members[0]?.diff : undefined;
    expect(
      items?.kind === "items" && items.items.every(({ diff: { kind } }) => kind === "members"),
    ).toBe(true);
  });

  it("falls back to equal elements for lists beyond the table, and still is right", () => {
    const numbers = Array.from({ length: 3_000 }, (_, index) => `n${index}`);
    const before = native({ l: numbers });
    const after = native({ l: [...numbers.slice(0, 10), "new", ...numbers.slice(12), "end"] });
    const shown = lines(before, after);
    expect(shown).toContain('  - "n10",');
    expect(shown).toContain('  + "new",');
    expect(shown).toContain('  + "end",');
    expect(shown.length).toBeLessThan(20);
  });
});
