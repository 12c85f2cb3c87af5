import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { ProviderMirror } from "../differential/provider-mirror.ts";
import { compareCase } from "./compare-case.ts";
import { generateCase } from "./generate-case.ts";
import { readIntended, unexplained } from "./intended.ts";

/** Always the same for a change: other seeds find differences that are not of the change, which is for `main.ts --seed N`. */
const SEED = Number(process.env["STACKWRIGHT_SEED"] ?? 20_171_129) >>> 0;
const COUNT = 20;
const AT_ONCE = 2;

const INTENDED = new URL("../../intended-differences.json", import.meta.url);

it(`${COUNT} generated configurations do what they do with the real command (from ${SEED})`, {
  timeout: 240_000,
}, async (ctx) => {
  const terraform = process.env["TEST_TERRAFORM"] ?? "terraform";
  const version = await promisify(execFile)(terraform, ["version"]).catch(() => undefined);
  ctx.skip(version === undefined, `${terraform} cannot be run on this machine`);
  const cases = Array.from({ length: COUNT }, (_, at) => generateCase(SEED + at));
  const mirror = await ProviderMirror.make(cases.flatMap(({ needs }) => needs));
  onTestFinished(async () => mirror[Symbol.asyncDispose]());
  const intended = readIntended(INTENDED);
  const queue = cases.filter(({ needs }) => mirror.reasonAgainst(needs) === undefined);
  const differences: string[] = [];
  const work = async (): Promise<void> => {
    for (let test = queue.shift(); test !== undefined; test = queue.shift()) {
      const options = { terraform, configuration: mirror.configuration };
      const { deviations } = await compareCase(test, options);
      for (const { step, field, message } of unexplained(deviations, intended)) {
        differences.push(`${test.name} ${step} ${field}: ${message}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  // `node e2e/src/generator/main.ts --seed N --count 1` reduces one of them.
  expect(differences).toEqual([]);
});
