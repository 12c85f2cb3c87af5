import { spawn } from "node:child_process";
import { mkdtempDisposable, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Type, Value } from "@stackwright/cty";
import type { LifecycleProvider } from "@stackwright/mux/router";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createPluginClient } from "../client/plugin-client.ts";
import { ECHO, handles, isThere, program } from "../testing/programs/programs.ts";
import { launchTerraformProvider } from "./launch-provider.ts";

/* Real processes that misbehave, seen through the typed client. */

const OBJECT = Type.object({ fault: Type.string, plan_fault: Type.string, id: Type.string });
const NOTHING = new Uint8Array();

async function launchFaulty(...args: string[]) {
  const process = await launchTerraformProvider({
    ...program("faulty-provider.ts", ...args),
    shutdownTimeoutMs: 500,
    graceMs: 500,
  });
  onTestFinished(() => process.close());
  const client = createPluginClient(process.transport);
  await client.configure(
    { config: Value.object({}), engineVersion: "1.0.0", deferralAllowed: false },
    {},
  );
  return { process, client };
}

function thing(fault: string, planFault = "none") {
  const known = { fault: Value.string(fault), plan_fault: Value.string(planFault) };
  return {
    prior: Value.null(OBJECT),
    config: Value.object({ ...known, id: Value.null(Type.string) }),
    planned: Value.object({ ...known, id: Value.unknown(Type.string) }),
  };
}

const plan = (client: LifecycleProvider, fault: string) => {
  const { prior, config } = thing("none", fault);
  const request = { type: "fault_thing", prior, config, proposed: config };
  return client.plan({ ...request, priorPrivate: NOTHING, deferralAllowed: false }, {});
};

const apply = (client: LifecycleProvider, fault: string, signal?: AbortSignal) =>
  client.apply(
    { type: "fault_thing", ...thing(fault), plannedPrivate: NOTHING },
    { ...(signal !== undefined && { signal }) },
  );

describe("a provider process", () => {
  it("that dies in a plan or an apply leaves another one unharmed", async () => {
    const [dying, alsoDying, other] = await Promise.all([
      launchFaulty(),
      launchFaulty(),
      launchFaulty(),
    ]);
    await expect(plan(dying.client, "die")).rejects.toMatchObject({
      code: "TFPLUGIN_PROCESS_CRASHED",
    });
    await expect(apply(alsoDying.client, "die")).rejects.toMatchObject({
      code: "TFPLUGIN_PROCESS_CRASHED",
      outcome: "unknown",
    });
    const reply = await apply(other.client, "none");
    expect(reply.diagnostics).toEqual([]);
  });

  it("that hangs is given up by its caller, and killed by its end", async () => {
    const { client, process } = await launchFaulty();
    const given = new AbortController();
    const hanging = expect(apply(client, "hang", given.signal)).rejects.toThrow("enough");
    await client.schema({});
    given.abort(new Error("enough"));
    await hanging;
    const { pid = 0 } = process;
    await process.close();
    expect(isThere(pid)).toBe(false);
  });

  it("of two runs, one of which is stopped, continues for the other", async () => {
    const [first, second] = await Promise.all([launchFaulty(), launchFaulty()]);
    const stopped = apply(first.client, "work");
    const going = apply(second.client, "work");
    await first.client.schema({});
    await first.client.stop({});
    const { diagnostics } = await stopped;
    expect(diagnostics.map(({ summary }) => summary)).toEqual(["Stopped"]);
    const state = await Promise.race([
      going.then(() => "ended"),
      second.client.schema({}).then(() => "going"),
    ]);
    expect(state).toBe("going");
    await second.client.stop({});
    await going;
  });

  it("may have a lot to say", async () => {
    const { client } = await launchFaulty();
    const { diagnostics, state } = await apply(client, "shout");
    expect(diagnostics[0]?.detail).toHaveLength(16 * 1024 * 1024);
    expect(state.isNull).toBe(true);
  });

  it("that answers invalid UTF-8 is distinguished from one that is gone", async () => {
    const { client } = await launchFaulty();
    await expect(apply(client, "garble")).rejects.toMatchObject({
      code: "TFPLUGIN_REPLY_INVALID",
      outcome: "unknown",
    });
    expect((await apply(client, "none")).diagnostics).toEqual([]);
  });

  it("may have a schema of 64 MiB", async () => {
    const { client } = await launchFaulty("huge-schema");
    const { schema } = await client.schema({});
    expect(schema.resources.get("fault_thing")?.block.description).toHaveLength(64 * 1024 * 1024);
  });

  it("ends with us, even where we are killed", async () => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "parent-"));
    const parent = spawn(
      process.execPath,
      [join(import.meta.dirname, "../testing/programs/launching-parent.ts"), scratch.path],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    onTestFinished(() => void parent.kill("SIGKILL"));
    const line = await new Promise<string>((resolve) => {
      parent.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString()));
    });
    const { group, pid } = JSON.parse(line) as { readonly group: number; readonly pid: number };
    expect(isThere(pid)).toBe(true);
    parent.kill("SIGKILL");
    await vi.waitFor(() => expect([group, pid].filter(isThere)).toEqual([]), 5000);
  });
});

const CYCLES = Math.ceil(3 * Number(process.env.STACKWRIGHT_RUNS ?? 1));

it("starting and ending leaves nothing: no process, file or handle", {
  timeout: 30_000 + 5000 * CYCLES,
}, async ({ annotate }) => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "cycles-"));
  const cycle = async (): Promise<number> => {
    const provider = await launchTerraformProvider({ ...ECHO, runtimeDirectory: scratch.path });
    await provider.transport.unary("ReadResource", NOTHING, {});
    await provider.close();
    return provider.pid ?? 0;
  };
  await cycle();
  const before = handles();
  const pids: number[] = [];
  for (let count = 0; count < CYCLES; count += 1) pids.push(await cycle());
  await vi.waitFor(() => expect(handles()).toEqual(before));
  expect(pids.filter(isThere)).toEqual([]);
  expect(await readdir(scratch.path)).toEqual([]);
  await annotate(`${CYCLES} cycles`, "count");
});
