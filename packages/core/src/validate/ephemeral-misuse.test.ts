import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { builtinOrigin, inProcessOrigin } from "../providers/builtin-origin.ts";
import { FOUND_EARLIER, REFUSED_HERE } from "../testing/misuse/differences.ts";
import { engineVerdict } from "../testing/misuse/engine-verdict.ts";
import type { MisuseVerdict } from "../testing/misuse/misuse-case.ts";
import { MISUSE_CASES } from "../testing/misuse/misuse-cases.ts";
import { MISUSE_PROVIDERS } from "../testing/misuse/misuse-provider.ts";
import { RECORDED_VERDICTS } from "../testing/misuse/recorded-verdicts.ts";

/* What the engine says to ephemeral values in every place, beside recorded answers of the reference command. */

const recorded = JSON.parse(readFileSync(RECORDED_VERDICTS, "utf8")) as Record<
  string,
  MisuseVerdict
>;
const refused = (errors: readonly string[]): string => (errors.length > 0 ? "refused" : "accepted");

describe("an ephemeral value in", () => {
  it.for(MISUSE_CASES)("$name", async (one) => {
    const { name } = one;
    const expected = recorded[name];
    if (expected === undefined) throw new Error(`no answer of the command is recorded to ${name}`);
    const found = await engineVerdict(one, [
      builtinOrigin(),
      inProcessOrigin("misuse", MISUSE_PROVIDERS),
    ]);
    const plan = REFUSED_HERE.has(name) ? "refused" : refused(expected.plan);
    if (REFUSED_HERE.has(name)) expect(refused(expected.plan)).toBe("accepted");
    expect([refused(found.plan), found.plan]).toEqual([plan, found.plan]);
    if (REFUSED_HERE.has(name)) return;
    const validate = FOUND_EARLIER.has(name) ? "refused" : refused(expected.validate);
    if (FOUND_EARLIER.has(name)) expect(refused(expected.validate)).toBe("accepted");
    expect([refused(found.validate), found.validate]).toEqual([validate, found.validate]);
  });

  it("places that have a recorded answer only", () => {
    expect(Object.keys(recorded).toSorted()).toEqual(
      MISUSE_CASES.map(({ name }) => name).toSorted(),
    );
  });
});
