import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { structToJson } from "@stackwright/proto/property";
import { latencies, printLatencies } from "@stackwright-bench/figures";
import { printProcessorTimes } from "./processor-time.ts";
import { PROPERTIES, REQUEST } from "./subjects.ts";

/* The stubs and values of Pulumi's own SDK, which the mux package has for its tests. */
const fromMux = createRequire(new URL("../../packages/mux/package.json", import.meta.url));
/** What the SDK depends on is its own, and not to be found from anywhere else. */
const fromSdk = createRequire(fromMux.resolve("@pulumi/pulumi/package.json"));
const PROVIDER = join(import.meta.dirname, "provider-process.ts");
const COMMAND = join(import.meta.dirname, "../../apps/cli/bin/stackwright.mjs");

/** `stackwright mux serve` and a provider without it, both called by the client of Pulumi's SDK. */
export async function servedCommand(calls: number): Promise<void> {
  await using open = new AsyncDisposableStack();
  const scratch = open.use(await mkdtempDisposable(join(tmpdir(), "bench-mux-")));
  const programs = [];
  for (const server of [0, 1]) {
    const folder = join(scratch.path, "home/plugins", `resource-p${server}-v1.0.0`);
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, `pulumi-resource-p${server}`),
      `#!/bin/sh\nSERVER=${server} exec "${process.execPath}" "${PROVIDER}" "$@"\n`,
      { mode: 0o755 },
    );
    programs.push({ source: `stackwright.local/pulumi/p${server}` });
  }
  const providers = { "example.com/acme/platform": { programs } };
  const text = JSON.stringify({ providers });
  await writeFile(join(scratch.path, "stackwright.providers.json"), text);
  const env = { ...process.env, PULUMI_HOME: join(scratch.path, "home"), SERVER: "1" };
  const start = async (words: readonly string[]): Promise<Started> => {
    const child = spawn(process.execPath, words, {
      cwd: scratch.path,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    open.defer(async () => {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    });
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const { ResourceProviderClient } = fromMux("@pulumi/pulumi/proto/provider_grpc_pb.js");
    const { credentials } = fromMux("@grpc/grpc-js");
    const address = `127.0.0.1:${line.toString().trim()}`;
    const client = new ResourceProviderClient(address, credentials.createInsecure()) as Client;
    open.defer(() => client.close());
    return { client, pid: child.pid ?? 0 };
  };
  const { CreateRequest } = fromMux("@pulumi/pulumi/proto/provider_pb.js");
  const { Struct } = fromSdk("google-protobuf/google/protobuf/struct_pb.js");
  const request = new CreateRequest();
  request.setUrn(REQUEST.urn);
  request.setProperties(Struct.fromJavaScript(structToJson(PROPERTIES)));
  const create =
    ({ client }: Started) =>
    () =>
      new Promise<unknown>((resolve, reject) => {
        client.create(request, (error, reply) => (error === null ? resolve(reply) : reject(error)));
      });
  const direct = await start([PROVIDER]);
  const served = await start([COMMAND, "mux", "serve"]);
  const title =
    "stackwright mux serve, called by the client of Pulumi's SDK: Create with 2 KiB each way";
  const [provider, mux] = [
    { what: "provider", call: create(direct), pids: [direct.pid] },
    {
      what: "mux serve, the provider behind it",
      call: create(served),
      pids: withDescendants(served.pid),
    },
  ];
  printLatencies("mux", title, await latencies([provider, mux], calls));
  await printProcessorTimes(title, [provider, mux], calls);
}

/** A process and those that it has started, by what Linux says of them. */
function withDescendants(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    const pids = children.split(" ").filter((word) => word !== "");
    return [pid, ...pids.flatMap((child) => withDescendants(Number(child)))];
  } catch {
    return [pid];
  }
}

interface Started {
  readonly client: Client;
  readonly pid: number;
}

/** The client of the SDK as far as it is used here. */
interface Client {
  create(request: unknown, done: (error: Error | null, reply: unknown) => void): void;
  close(): void;
}
