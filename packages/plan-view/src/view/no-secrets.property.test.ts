import { Mark, transform, Value } from "@stackwright/cty";
import fc from "fast-check";
import { expect, it } from "vitest";
import { renderHtml } from "../render/html.ts";
import { renderMarkdown } from "../render/markdown.ts";
import { renderTerminal } from "../render/terminal.ts";
import { twoValues } from "../testing/random-values.ts";
import { planView } from "./plan-view.ts";

const CANARY = "c4n4ry-0451";
const DOCUMENT = JSON.stringify({ Statement: [{ Sid: CANARY }] });

/** The value with a secret in the place of some of its texts. */
function withSecrets(value: Value): Value {
  return transform(value, (_path, part) => {
    const [plain, marks] = part.unmark();
    if (plain.type.kind !== "string" || !plain.isKnown || plain.isNull) return part;
    const secret = { a: CANARY, "one\ntwo\nthree": `x\n${CANARY}\ny` }[plain.asString()];
    const hidden = secret ?? (plain.asString().startsWith("{") ? DOCUMENT : undefined);
    return hidden === undefined ? part : Value.string(hidden).withMarks(marks).mark(Mark.sensitive);
  });
}

it("no form of a view holds what is marked sensitive, wherever it is", () => {
  let secrets = 0;
  fc.assert(
    fc.property(
      twoValues(),
      fc.constantFrom("create", "update", "delete", "replace"),
      ([one, other], action) => {
        const [before, after] = [one, other].map((value) =>
          Value.object({ cidr_blocks: withSecrets(value), policy: withSecrets(value) }),
        );
        if (before?.containsMarks === true || after?.containsMarks === true) secrets++;
        if (before === undefined || after === undefined) return;
        const view = planView(
          {
            stack: "s",
            revision: 1n,
            mode: "normal",
            partial: false,
            createdAtMs: 0,
            changes: [
              {
                address: "t.a",
                deposed: "",
                mode: "managed",
                type: "t",
                name: "a",
                module: "",
                key: undefined,
                action,
                ...(action !== "create" && { before }),
                ...(action !== "delete" && { after }),
                replacePaths: [],
                causes: [],
              },
            ],
            outputs: [{ name: "o", before, after, sensitive: false }],
            drift: [{ address: "t.a", deposed: "", type: "t", before, after, relevant: true }],
            checks: [],
          },
          {},
        );
        for (const text of [
          JSON.stringify(view),
          renderTerminal(view, { verbose: true, unfolded: true }),
          renderMarkdown(view),
          renderHtml(view),
        ]) {
          expect(text).not.toContain(CANARY);
        }
      },
    ),
    { numRuns: 300 },
  );
  expect(secrets).toBeGreaterThan(50);
});
