import { expect, it } from "vitest";
import { policyProgram } from "../testing/policies/read-policies.ts";
import { requireDefinedAllow } from "./require-defined-allow.ts";

const program = policyProgram();

it("refuses a package whose rule allow is undefined", () => {
  const check = (...answers: { entrypoint: string; value: unknown }[]) =>
    requireDefinedAllow(program, answers);
  expect(() => check({ entrypoint: "shapes", value: { deny: [] } })).toThrow(
    "shapes/allow is undefined for this plan: give it a default",
  );
  // It is read there, where an undefined one forbids.
  check({ entrypoint: "shapes", value: {} }, { entrypoint: "shapes/allow", value: undefined });
  check({ entrypoint: "shapes", value: { allow: false } });
  check({ entrypoint: "shapes/deny", value: [] });
  // This package has no such rule.
  check({ entrypoint: "stackwright", value: { deny: [] } });
});

it("takes no rule whose name begins with it for the rule allow", () => {
  const check = (...names: string[]) => {
    // As in the section of names: the number of a function, the length of its name, and the name.
    const functions = names.map((name) => {
      const size = name.length;
      const length = size < 128 ? [size] : [128 + (size % 128), Math.floor(size / 128)];
      return Buffer.concat([Buffer.from([0xed, 5, ...length]), Buffer.from(name)]);
    });
    const answer = { entrypoint: names[0]?.split(".")[2] ?? "", value: { deny: [] } };
    requireDefinedAllow(Uint8Array.from(Buffer.concat(functions)), [answer]);
  };
  check("g0.data.p.deny", "g0.data.p.allowed_types", "g0.data.p.allow_list");
  check("g0.data.p.deny", "g0.data.other.data.p.allow");
  const long = "p".repeat(200);
  for (const name of ["p", long]) {
    const names = [`g0.data.${name}.deny`, `g0.data.${name}.allow`, `g0.data.${name}.allowed`];
    expect(() => check(...names)).toThrow(`${name}/allow is undefined`);
  }
});
