import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rotatingSlice } from "@stackwright/base/testing";
import { expect, it } from "vitest";
import { type Json, listOf, objectOf, parseExact, textOf } from "../differential/exact-json.ts";
import { COMMAND } from "../testing/cli.ts";
import { AwsGround, TERRAFORM } from "./aws-ground.ts";

/*
 * A network, roles with policies, a bucket with its companions, a table, a queue, a topic, a key and parameters on the real AWS
 * provider and a simulation of AWS: planned alike by both commands, made by the reference command, adopted with an empty plan
 * and destroyed by ours.
 */

/** So many commits in a row have one that runs this, as the provider takes seconds for each command. */
const PARTS = 2;

it("what the reference command made on AWS is adopted with an empty plan and destroyed", {
  timeout: 1_200_000,
}, async (ctx) => {
  ctx.skip(rotatingSlice(["this"], PARTS).length === 0, `one commit of ${PARTS} runs this`);
  await using ground = await AwsGround.make(ctx);
  const configuration = join(import.meta.dirname, "companions");
  const theirs = await ground.command("theirs", configuration, [TERRAFORM]);
  const ours = await ground.command("ours", configuration, COMMAND);

  const [theirInit, ourInit] = await Promise.all([theirs("init", "-input=false"), ours("init")]);
  expect([theirInit.code, ourInit.code]).toEqual([0, 0]);
  expect(await theirs("plan", "-input=false", "-out=p")).toMatchObject({ code: 0, error: "" });
  expect(await ours("plan", "-input=false", "-out=p")).toMatchObject({ code: 0, error: "" });
  const expected = changes((await theirs("show", "-json", "p")).output);
  expect(expected.size).toBeGreaterThan(25);
  expect(changes((await ours("show", "-json", "p")).output)).toEqual(expected);
  expect(await theirs("apply", "-input=false", "p")).toMatchObject({ code: 0, error: "" });

  const made = await readFile(join(ground.folder, "theirs", "terraform.tfstate"), "utf8");
  await writeFile(join(ground.folder, "ours", "terraform.tfstate"), made);
  // Only where its plan is empty.
  expect(await ours("adopt", "-y")).toMatchObject({ code: 0 });
  expect(recorded((await ours("export-state")).output)).toEqual(recorded(made));

  // What a state may hold besides: both commands plan the same, and it comes back as it was.
  const unusual = withUnusualObjects(made);
  const [edited, compared] = await Promise.all(
    ([COMMAND, [TERRAFORM]] as const).map(async (command, at) => {
      const name = `edited${at}`;
      const run = await ground.command(name, configuration, command);
      expect(await run("init", "-input=false")).toMatchObject({ code: 0 });
      await writeFile(join(ground.folder, name, "terraform.tfstate"), unusual);
      return run;
    }),
  );
  if (edited === undefined || compared === undefined) throw new Error("two commands");
  expect(await compared("plan", "-input=false", "-out=p")).toMatchObject({ code: 0, error: "" });
  const wanted = changes((await compared("show", "-json", "p")).output);
  expect(wanted.get("aws_cloudwatch_log_group.this 0badcafe")).toBeDefined();
  expect(wanted.get("aws_sns_topic.this")).toMatchObject({ reason: "replace_because_tainted" });
  expect(await edited("adopt", "-y", "--accept-changes")).toMatchObject({ code: 0 });
  expect(recorded((await edited("export-state")).output)).toEqual(recorded(unusual));
  expect(await edited("plan", "-input=false", "-out=p")).toMatchObject({ code: 0 });
  expect(changes((await edited("show", "-json", "p")).output)).toEqual(wanted);

  expect(await ours("destroy", "-auto-approve")).toMatchObject({ code: 0 });
});

/** A state as its objects and outputs, in an order of its own: the number and the release that wrote it may differ. */
function recorded(text: string): unknown {
  const { lineage, outputs, resources } = objectOf(parseExact(text));
  const keyOf = (row: Json): string => JSON.stringify(row, ["module", "mode", "type", "name"]);
  const rows = listOf(resources).toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  return { lineage, outputs, rows };
}

/** The state with a tainted and a deposed object, and one that an earlier version of its schema wrote. */
function withUnusualObjects(text: string): string {
  const state = JSON.parse(text) as MutableState;
  const instanceOf = (type: string): MutableInstance => {
    const found = state.resources.find((one) => one.mode === "managed" && one.type === type);
    if (found?.instances[0] === undefined) throw new Error(`the state has no ${type}`);
    return found.instances[0];
  };
  instanceOf("aws_sns_topic").status = "tainted";
  // One that refers to nothing: the reference command finds a cycle where what is replaced is behind a deposed object.
  const groups = state.resources.find(({ type }) => type === "aws_cloudwatch_log_group");
  groups?.instances.push({ ...instanceOf("aws_cloudwatch_log_group"), deposed: "0badcafe" });
  // The version before the first is that of a state without one.
  instanceOf("aws_security_group").schema_version = 0;
  return JSON.stringify(state);
}

interface MutableInstance {
  status?: string;
  deposed?: string;
  schema_version: number;
}

interface MutableState {
  readonly resources: readonly {
    readonly mode: string;
    readonly type: string;
    readonly instances: MutableInstance[];
  }[];
}

/** The changes by address and key of deposed objects, but for the parameters: their values are sensitive, and our command shows none. */
function changes(text: string): ReadonlyMap<string, unknown> {
  const rows = listOf(objectOf(parseExact(text)).resource_changes)
    .map(objectOf)
    .filter(({ type }) => type !== "aws_ssm_parameter");
  return new Map(
    rows.map((row) => [
      `${textOf(row.address)} ${textOf(row.deposed)}`.trim(),
      { ...objectOf(row.change), reason: row.action_reason },
    ]),
  );
}
