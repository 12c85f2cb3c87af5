import { decodeJsonImplied, Path, Type, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { createStyle } from "../terminal/style.ts";
import { versionsText } from "./value-diff.ts";

const display = {
  style: createStyle(false),
  verbose: false,
  secrets: "hidden",
  forcesReplacement: () => false,
} as const;

interface Statement {
  readonly Sid?: string;
  readonly Effect: string;
  readonly Action: string;
  readonly Resource: string;
}

const read: Statement = { Effect: "Allow", Action: "s3:GetObject", Resource: "arn:a" };
const write: Statement = { Effect: "Allow", Action: "s3:PutObject", Resource: "arn:b" };
const remove: Statement = { Effect: "Deny", Action: "s3:DeleteObject", Resource: "arn:c" };

function shown(before: readonly Statement[], after: readonly Statement[]): string {
  const place = { path: Path.root, indent: 2 };
  const listed = (list: readonly Statement[]): Value => decodeJsonImplied(JSON.stringify(list));
  const versions = { before: listed(before), after: listed(after) };
  const lists = versionsText(versions, place, display);
  const documents = versionsText(
    {
      before: Value.string(JSON.stringify({ Statement: before })),
      after: Value.string(JSON.stringify({ Statement: after })),
    },
    place,
    display,
  );
  // A document is shown as its content, further in.
  expect(signs(documents).filter((line) => !line.includes("Statement"))).toEqual(signs(lists));
  return lists;
}

function signs(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /^[-+~] ["A-Z]/.test(line));
}

describe("elements of a list that change", () => {
  it("are each paired with themselves where neighbours change", () => {
    const text = shown(
      [read, write, remove],
      [{ ...read, Resource: "arn:a2" }, { ...write, Resource: "arn:b2" }, remove],
    );
    expect(signs(text)).toEqual([
      '~ Resource = "arn:a" -> "arn:a2"',
      '~ Resource = "arn:b" -> "arn:b2"',
    ]);
    expect(text).toContain("# (1 unchanged element hidden)");
  });

  it("are not taken for a new one in front of them", () => {
    const before = [
      { Sid: "A", ...read },
      { Sid: "B", ...remove },
    ];
    const text = shown(before, [
      { Sid: "N", Effect: "Allow", Action: "s3:List", Resource: "arn:n" },
      { Sid: "A", ...read, Resource: "arn:a2" },
      { Sid: "B", ...remove, Resource: "arn:c2" },
    ]);
    expect(signs(text)).toEqual([
      '+ Action   = "s3:List"',
      '+ Effect   = "Allow"',
      '+ Resource = "arn:n"',
      '+ Sid      = "N"',
      '~ Resource = "arn:a" -> "arn:a2"',
      '~ Resource = "arn:c" -> "arn:c2"',
    ]);
  });

  it("do not turn a prohibition into a permission", () => {
    const allowed = { Effect: "Allow", Action: "s3:List", Resource: "arn:n" };
    for (const [before, after] of [
      [
        [remove, write],
        [{ ...write, Resource: "arn:b2" }, allowed],
      ],
      [
        [read, remove],
        [read, allowed],
      ],
      [
        [remove, read],
        [allowed, { ...remove, Action: "s3:*", Resource: "arn:x" }],
      ],
    ] as const) {
      expect(shown(before, after)).not.toContain('"Deny" -> "Allow"');
    }
  });

  it("are the same element where the name is the same, however much else changes", () => {
    const text = shown(
      [{ Sid: "A", ...read }, write],
      [{ Sid: "A", Effect: "Deny", Action: "s3:*", Resource: "*" }, write],
    );
    expect(text).toContain('~ Effect   = "Allow" -> "Deny"');
  });

  it("are paired where a part is not known yet", () => {
    const element = (id: Value, port: number): Value =>
      Value.object({ id, port: Value.number(port), zone: Value.string("z") });
    const text = versionsText(
      {
        before: Value.tuple([element(Value.string("1"), 80), element(Value.string("2"), 443)]),
        after: Value.tuple([
          element(Value.string("9"), 22),
          element(Value.unknown(Type.string), 80),
          element(Value.unknown(Type.string), 443),
        ]),
      },
      { path: Path.root, indent: 2 },
      display,
    );
    expect(text.split("\n").filter((line) => /^ {2}[-+~] /.test(line))).toEqual([
      "  + {",
      "  ~ {",
      "  ~ {",
    ]);
    expect(text).toContain('~ id   = "1" -> (known after apply)');
  });

  it("of one name are one element although all else changes and it has another place", () => {
    const list = (...names: string[]): Value =>
      Value.tuple(names.map((name) => Value.object({ name: Value.string(name) })));
    const text = versionsText(
      { before: list("a", "b", "c"), after: list("b", "c", "a") },
      { path: Path.root, indent: 2 },
      display,
    );
    expect(text).toBe(`[
    # (2 unchanged elements hidden)
  ~ { # moved from position 1
        name = "a"
    },
]`);
  });

  it("without a meaning of their order are shown as the same in another order", () => {
    const list = (...texts: string[]): Value =>
      Value.list(
        texts.map((text) => Value.string(text)),
        Type.string,
      );
    const text = versionsText(
      { before: list("10.0.0.0/8", "10.1.0.0/16"), after: list("10.1.0.0/16", "10.0.0.0/8") },
      { path: Path.root.attribute("cidr_blocks"), indent: 2 },
      { ...display, type: "aws_security_group" },
    );
    expect(text).toBe(`[ # order only
    # (2 unchanged elements hidden)
]`);
  });

  it("that are the only ones are one that changed, whatever is in them", () => {
    const text = shown([read], [remove]);
    expect(signs(text)).toEqual([
      '~ Action   = "s3:GetObject" -> "s3:DeleteObject"',
      '~ Effect   = "Allow" -> "Deny"',
      '~ Resource = "arn:a" -> "arn:c"',
    ]);
  });

  it("of a set are paired by what agrees", () => {
    const rule = (port: number, zone: string): Value =>
      Value.object({ weight: Value.number(port), zone: Value.string(zone), on: Value.true });
    const set = (...rules: Value[]): Value => Value.set(rules, rules[0]?.type ?? Type.dynamic);
    const text = versionsText(
      { before: set(rule(1, "a"), rule(2, "b")), after: set(rule(1, "a"), rule(3, "b")) },
      { path: Path.root, indent: 2 },
      display,
    );
    expect(text).toContain("~ weight = 2 -> 3");
    expect(text).not.toMatch(/^ {2}[-+] \{/m);
  });
});
