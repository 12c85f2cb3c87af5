import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { createPluginClient } from "@stackwright/tfplugin";
import { expect, it } from "vitest";
import { startBridgedFunction } from "../testing/bridged-function.ts";
import { createPulumiRunner } from "./pulumi-runner.ts";

/* A plug-in on Pulumi's SDK for Go behind a function, as itself and as the package that its parameters make. */

const LAB = process.env.TEST_TOOL_PULUMI_RESOURCE_LAB ?? "";
const ABSENT = "TEST_TOOL_PULUMI_RESOURCE_LAB is not set";

it.for([
  ["itself", undefined, "lab_note"],
  ["another package", ["ledger", "2.1.0"], "ledger_note"],
] as const)("is %s", { timeout: 120_000 }, async ([, parameters, type], context) => {
  context.skip(LAB === "", ABSENT);
  await using scratch = await mkdtempDisposable(`${tmpdir()}/fg-lab-`);
  const runner = await createPulumiRunner({
    command: LAB,
    temporaryDirectory: scratch.path,
    ...(parameters && { parameters }),
  });
  await using bridged = await startBridgedFunction({ runner });
  await using provider = createPluginClient(bridged.connect());
  const { schema } = await provider.schema({});
  expect(schema.resources.has(type)).toBe(true);
});

it("says what its parameters lack", { timeout: 120_000 }, async (context) => {
  context.skip(LAB === "", ABSENT);
  const runner = await createPulumiRunner({ command: LAB, parameters: ["ledger"] });
  await using bridged = await startBridgedFunction({ runner });
  await using provider = createPluginClient(bridged.connect());
  await expect(provider.schema({})).rejects.toThrow("the parameters are a name and a version");
});
