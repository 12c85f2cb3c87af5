import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type Type, Value } from "@stackwright/cty";
import { FunctionCaller, FunctionTargetTable } from "@stackwright/fg-bridge";
import { type LifecycleProvider, typeOfBlock } from "@stackwright/mux/router";
import { createPluginClient, type PluginTransport } from "@stackwright/tfplugin";
import { launchTerraformProvider } from "@stackwright/tfplugin/launch";

const PROJECT = "a61dfe3154de42829367056598d5040f";
const URN = `urn:fss:cn-north-7:${PROJECT}:function:default:bench:latest`;

const TYPE = "random_string";

/** The provider, started here and called over gRPC: the baseline. */
export async function startLocal(program: string): Promise<PluginTransport> {
  const { transport } = await launchTerraformProvider({ command: program, protocols: [5] });
  return transport;
}

interface RemoteFunction extends AsyncDisposable {
  readonly pid: number;
  /** A transport of a session of its own. */
  connect(): PluginTransport;
  rssBytes(): Promise<number>;
}

/** The provider behind the function side, in another process. */
export async function startRemote(program: string, pool: boolean): Promise<RemoteFunction> {
  const child: ChildProcess = fork(new URL("./function-process.ts", import.meta.url), [
    program,
    ...(pool ? ["pool"] : []),
  ]);
  const [{ url }] = (await once(child, "message")) as [{ readonly url: string }];
  const table = new FunctionTargetTable({
    functions: { [URN]: { url } },
    guard: { allow: ["127.0.0.0/8"] },
  });
  const caller = new FunctionCaller({
    timeouts: { totalMs: 600_000 },
    limits: { perFunction: 200, perSession: 50, queued: 10_000 },
  });
  const target = table.resolve(URN, { projects: [PROJECT] });
  return {
    pid: child.pid ?? 0,
    connect: () => caller.transport({ target }),
    async rssBytes() {
      child.send("memory");
      const [{ rss }] = (await once(child, "message")) as [{ readonly rss: number }];
      return rss;
    },
    async [Symbol.asyncDispose]() {
      await table.close();
      child.disconnect();
      await once(child, "exit");
    },
  };
}

/** A configured provider, and what one resource of it needs to be planned. */
interface Plannable {
  readonly provider: LifecycleProvider;
  plan(): Promise<void>;
  validateAndPlan(): Promise<void>;
}

export async function planner(transport: PluginTransport): Promise<Plannable> {
  const provider = createPluginClient(transport);
  const { schema } = await provider.schema({});
  await provider.configure(
    { config: Value.object({}), engineVersion: "1.11.4", deferralAllowed: false },
    {},
  );
  const resource = schema.resources.get(TYPE);
  if (resource === undefined) throw new Error(`the provider has no ${TYPE}`);
  const type = typeOfBlock(resource.block);
  const config = objectOf(type, { length: Value.number(12) });
  const plan = async () => {
    const { planned } = await provider.plan(
      {
        type: TYPE,
        prior: Value.null(type),
        config,
        proposed: config,
        priorPrivate: new Uint8Array(),
        deferralAllowed: false,
      },
      {},
    );
    if (planned === undefined) throw new Error("nothing was planned");
  };
  return {
    provider,
    plan,
    async validateAndPlan() {
      await provider.validateResource({ type: TYPE, config, writeOnlyAllowed: true }, {});
      await plan();
    },
  };
}

function objectOf(type: Type, given: Readonly<Record<string, Value>>): Value {
  if (type.kind !== "object") throw new Error("not an object");
  return Value.object(
    Object.fromEntries(
      type.names.map((name, i) => [name, given[name] ?? Value.null(type.types[i] ?? type)]),
    ),
  );
}

/** Resident memory of a process and all below it, in bytes. */
export function treeRssBytes(root: number): number {
  let total = 0;
  for (const pid of [root, ...childrenOf(root)]) {
    const status = readOrEmpty(`/proc/${pid}/status`);
    total += Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024;
  }
  return total;
}

function childrenOf(pid: number): number[] {
  const direct = readOrEmpty(`/proc/${pid}/task/${pid}/children`).trim();
  const pids = direct === "" ? [] : direct.split(" ").map(Number);
  return pids.flatMap((child) => [child, ...childrenOf(child)]);
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
