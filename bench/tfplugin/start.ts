import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { launchPoolMember, type PoolMember, ProviderPool } from "@stackwright/tfplugin/pool";
import { latencies, printLatencies } from "@stackwright-bench/figures";

/** What go-plugin's handshake needs; the baseline does without a certificate. */
const COOKIE = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";

/**
 * From the wish for a provider until it answers. The baseline is the bare program: started, its first line read, killed.
 * `TEST_TOOL_TERRAFORM_PROVIDER_RANDOM` names a provider written in Go.
 */
export async function start(scale: number): Promise<void> {
  const go = process.env.TEST_TOOL_TERRAFORM_PROVIDER_RANDOM;
  if (go === undefined) console.log("\nTEST_TOOL_TERRAFORM_PROVIDER_RANDOM is not set: Node only");
  else await measure("Start to ready, provider in Go (random)", go, [], Math.ceil(4 * scale));
  const args = [join(import.meta.dirname, "node-provider.ts")];
  await measure(
    "Start to ready, provider in Node, not bundled",
    process.execPath,
    args,
    Math.ceil(scale),
  );
}

async function measure(
  title: string,
  command: string,
  args: readonly string[],
  calls: number,
): Promise<void> {
  const launch = (): Promise<PoolMember> => launchPoolMember({ command, args });
  await using pool = new ProviderPool();
  const digests = { binaryDigest: command, environmentDigest: "", configurationDigest: "" };
  const key = { project: "bench", ...digests };
  let run = 0;
  const subjects = [
    { what: "bare program until its first line, killed", call: () => bare(command, args) },
    { what: "launched until healthy, closed", call: async () => (await launch()).close() },
    {
      what: "launched, schema decoded, closed",
      call: async () => {
        const member = await launch();
        await member.provider.schema({});
        await member.close();
      },
    },
    {
      what: "from the pool, health checked, released",
      call: async () => {
        run += 1;
        await using _lease = await pool.acquire({ key, run: `${run}`, use: "read", start: launch });
      },
    },
  ];
  printLatencies("providers", title, await latencies(subjects, calls));
}

async function bare(command: string, args: readonly string[]): Promise<void> {
  const env = { ...process.env, TF_PLUGIN_MAGIC_COOKIE: COOKIE, PLUGIN_PROTOCOL_VERSIONS: "5,6" };
  const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "ignore"] });
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "close");
}
