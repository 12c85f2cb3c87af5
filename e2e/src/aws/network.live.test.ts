import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { type Json, listOf, objectOf, parseExact, textOf } from "../differential/exact-json.ts";
import { COMMAND } from "../testing/cli.ts";
import { Moto } from "./moto.ts";

/*
 * A network on the real AWS provider: modules, conditions by count, dynamic blocks that are empty, attributes that are written
 * as blocks. Its plan is that of the reference command; after an apply on a simulation of AWS nothing is left to do.
 */

const run = promisify(execFile);
const MIRROR = process.env["TEST_AWS_MIRROR"] ?? "/opt/tf-plugins";
const PROVIDER = "registry.terraform.io/hashicorp/aws/5.100.0";
const LIMIT_MS = 5 * 60_000;

const RC = `
provider_installation {
  filesystem_mirror {
    path    = "${MIRROR}"
    include = ["registry.terraform.io/hashicorp/aws"]
  }
}
`;

interface Ended {
  readonly code: number;
  readonly output: string;
}

/** Values of variables, and how many resources they make at least. */
const NETWORKS: readonly (readonly [
  name: string,
  resources: number,
  variables: Readonly<Record<string, unknown>>,
])[] = [
  ["with everything", 41, {}],
  ["with IPv6", 20, { ipv6: true, enable_nat_gateway: false, enable_flow_log: false }],
];

describe("a network of the AWS provider", () => {
  it.for(NETWORKS)(
    "%s is planned like by the reference command, and has nothing to do after an apply",
    {
      timeout: 1_200_000,
    },
    async ([, resources, variables], ctx) => {
      ctx.skip(!existsSync(join(MIRROR, PROVIDER)), `no mirror at ${MIRROR} has ${PROVIDER}`);
      const terraform = process.env["TEST_TERRAFORM"] ?? "terraform";
      const version = await run(terraform, ["version"]).catch(() => undefined);
      ctx.skip(version === undefined, `${terraform} cannot be run on this machine`);
      await using moto = await Moto.start();
      ctx.skip(moto === undefined, "moto_server is not installed: pip install 'moto[server]'");
      if (moto === undefined) return;
      await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-aws-"));
      const rc = join(scratch.path, "rc");
      await writeFile(rc, RC);
      const env = {
        PATH: process.env["PATH"] ?? "",
        HOME: scratch.path,
        TF_CLI_CONFIG_FILE: rc,
        TF_VAR_endpoint: moto.url,
        ...variablesOf(variables),
        CHECKPOINT_DISABLE: "1",
        TF_IN_AUTOMATION: "1",
      };
      const started = async (folder: string, [program = "", ...first]: readonly string[]) => {
        const cwd = join(scratch.path, folder);
        await mkdir(cwd);
        await cp(join(import.meta.dirname, "network"), cwd, { recursive: true });
        const options = { cwd, env, timeout: LIMIT_MS, maxBuffer: 64 * 1024 * 1024 };
        return async (...words: string[]): Promise<Ended> =>
          run(program, [...first, ...words], options).then(
            ({ stdout }) => ({ code: 0, output: stdout }),
            ({ code, stdout }: { code: number; stdout: string }) => ({ code, output: stdout }),
          );
      };
      const theirs = await started("theirs", [terraform]);
      const ours = await started("ours", COMMAND);

      expect((await theirs("init", "-input=false")).code).toBe(0);
      expect((await theirs("plan", "-input=false", "-out=p")).code).toBe(0);
      const expected = objectOf(parseExact((await theirs("show", "-json", "p")).output));
      expect((await ours("init")).code).toBe(0);
      expect((await ours("plan", "--detailed-exitcode", "--out", "p")).code).toBe(2);
      const shown = objectOf(parseExact((await ours("show", "--json", "p")).output));
      const changes = byAddress(expected.resource_changes);
      expect(changes.size).toBeGreaterThanOrEqual(resources);
      expect(byAddress(shown.resource_changes)).toEqual(changes);
      expect(shown.output_changes).toEqual(expected.output_changes);
      expect(objectOf(shown.planned_values).outputs).toEqual(
        objectOf(expected.planned_values).outputs,
      );

      expect((await ours("up", "p")).code).toBe(0);
      const again = await ours("plan", "--detailed-exitcode");
      expect(again.output).toContain(
        "No changes. The infrastructure is as the configuration says.",
      );
      expect(again.output).not.toContain("outside");
      expect(again.code).toBe(0);
    },
  );
});

/** Variables of the environment that set variables of the configuration. */
function variablesOf(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [`TF_VAR_${name}`, JSON.stringify(value)]),
  );
}

function byAddress(changes: Json | undefined): ReadonlyMap<string, Json> {
  return new Map(
    listOf(changes)
      .map(objectOf)
      .map(({ address, change }) => [textOf(address), change ?? null]),
  );
}
