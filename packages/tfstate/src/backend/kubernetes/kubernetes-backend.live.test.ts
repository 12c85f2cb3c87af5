import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { startFakeKubernetes } from "../../testing/fake-kubernetes.ts";
import { COMMAND, NO_COMMAND, provesItself, rootModule } from "../../testing/real-root-module.ts";

describe("states in secrets of Kubernetes", { timeout: 120_000 }, () => {
  it("are those of the real command, with its locks", async (ctx) => {
    ctx.skip(spawnSync(COMMAND, ["version"]).status !== 0, NO_COMMAND);
    const { config, objects, callers } = await startFakeKubernetes();
    const values = { secret_suffix: "app", namespace: "states", config_path: config };
    const block = Object.entries(values).map(([name, value]) => `    ${name} = "${value}"\n`);
    const root = await rootModule("kubernetes", block.join(""));
    await provesItself(root, values);

    // A large state is in several secrets, for either side.
    await using backend = await root.open(values);
    const bytes = Buffer.from((await backend.read("default")) ?? []).toString("utf8");
    const state = JSON.parse(bytes) as { serial: number; outputs: Record<string, unknown> };
    state.serial += 1;
    state.outputs["big"] = { value: randomBytes(1_700_000).toString("base64"), type: "string" };
    await backend.write("default", Buffer.from(JSON.stringify(state)));
    const secrets = [...objects.keys()].filter((path) => path.includes("/secrets/tfstate-default"));
    expect(secrets.length).toBeGreaterThan(1);
    expect((await root.run("state", "pull")).text).toContain(`"serial": ${state.serial}`);
    expect(Buffer.from((await backend.read("default")) ?? []).toString()).toBe(
      JSON.stringify(state),
    );
    await backend.write("default", Buffer.from(bytes));
    const left = [...objects.keys()].filter((path) => path.includes("/secrets/tfstate-default"));
    expect(left).toHaveLength(1);
    expect([...callers]).toEqual(["Bearer secret-token"]);
  });
});
