import { decodeJsonImplied, getAttribute, Path, Type, Value } from "@stackwright/cty";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createStyle } from "../terminal/style.ts";
import { pairChanges } from "./pair-changes.ts";
import { sequenceSteps } from "./sequence-diff.ts";
import { rendersEqual, versionsText } from "./value-diff.ts";

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
    const steps = pairChanges(
      sequenceSteps(
        [element(Value.string("1"), 80), element(Value.string("2"), 443)],
        [
          element(Value.string("9"), 22),
          element(Value.unknown(Type.string), 80),
          element(Value.unknown(Type.string), 443),
        ],
        rendersEqual,
      ),
    );
    expect(steps.map(({ kind, index }) => [kind, index])).toEqual([
      ["insert", 0],
      ["change", 1],
      ["change", 2],
    ]);
  });
});

describe("pairs of changes", () => {
  const elements = fc.array(
    fc.record({ a: fc.constantFrom("x", "y"), b: fc.integer({ min: 0, max: 3 }) }),
    { maxLength: 8 },
  );
  const values = (given: readonly { a: string; b: number }[]): readonly Value[] =>
    given.map((one) => Value.object({ a: Value.string(one.a), b: Value.number(one.b) }));

  it("lead from the one sequence to the other, in their order", () => {
    fc.assert(
      fc.property(elements, elements, (before, after) => {
        const [was, is] = [values(before), values(after)];
        const steps = pairChanges(sequenceSteps(was, is, rendersEqual));
        expect(steps.flatMap((step) => (step.kind === "insert" ? [] : [step.before]))).toEqual(was);
        expect(steps.flatMap((step) => (step.kind === "remove" ? [] : [step.after]))).toEqual(is);
      }),
    );
  });

  it("of more than one element agree in half of what they have", () => {
    fc.assert(
      fc.property(elements, elements, (before, after) => {
        fc.pre(before.length > 1 || after.length > 1);
        for (const step of pairChanges(
          sequenceSteps(values(before), values(after), rendersEqual),
        )) {
          if (step.kind !== "change") continue;
          const agree = ["a", "b"].filter((name) =>
            getAttribute(step.before, name).rawEquals(getAttribute(step.after, name)),
          );
          expect(agree).not.toEqual([]);
        }
      }),
    );
  });
});
